// The end of the process: functions to call then; objects stay as they are.
#pragma once

namespace weft {

/// Calls the function when the process ends by exit() or a return from main(), before whatever was told to end earlier than this; when
/// libweft is unloaded, too. Whether it will be.
///
/// In the shared library objects with static lifetime, ours and LLVM's, are not destroyed: threads of the host may be in the middle of
/// a compilation, and LLVM makes some of its tables when it first needs them, so that they would go first.
bool at_process_end(void (*function)()) noexcept;

}  // namespace weft
