// A clock that jumps: of this process and of the files that it writes. The binary is linked with --wrap.
#pragma once

#include <cstdint>

namespace durability {

/// From now on the time of day, and the times that files get, are so many seconds ahead of the real ones.
void jump(std::int64_t seconds);

}  // namespace durability
