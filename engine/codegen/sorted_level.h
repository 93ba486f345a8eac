// Searching coordinates that are stored in order, and runs of equal ones.
#pragma once

#include "engine/codegen/level_kind.h"

namespace weft {

/// The first position at or after `range.begin` whose coordinate is not below `coordinate` (64 bits), or, where coordinates fall, is
/// below it; by bisection.
llvm::Value* lower_bound(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                         llvm::Value* coordinate);

/// The same by a call of the runtime, for the two ends of a chunk: a function of the module's own would be a tenth of the time to emit.
llvm::Value* lower_bound_called(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                                llvm::Value* coordinate);

/// The end of the run of entries equal to the one at `position`.
llvm::Value* run_end(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position,
                     llvm::Value* end);

/// The cursor of the entry at `position`: of its whole run above the last level of a chain.
Cursor sorted_entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* position, llvm::Value* end);

/// LevelKindCode::locate of levels whose coordinates are in order.
void locate_sorted(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, const FingerCode* finger,
                   LevelKindCode::Found then);

/// Finds the last coordinate of the next level that is not above `wanted` (64 bits), and runs `then` with the cursor below it and the
/// coordinate, if there is one: a compressed level, or a singleton of its own. A finger stays at what was found, for what rises.
void locate_start(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* wanted, const FingerCode* finger,
                  llvm::function_ref<void(const Cursor&, llvm::Value*)> then);

}  // namespace weft
