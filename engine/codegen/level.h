// How each kind of level is driven and located. A cursor is the position of one access: a single position, or, inside a
// chain of nonunique and singleton levels, the range of entries that share the coordinates bound so far.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/codegen/emit.h"
#include "engine/loop/program.h"

namespace weft {

/// The arrays of one level as values of the generated function.
struct LevelCode {
  llvm::Value* pos = nullptr;
  llvm::Value* crd = nullptr;
  llvm::Value* stride = nullptr;
  llvm::Value* extent = nullptr;
  llvm::Value* positions = nullptr;  ///< how many the level has; in checked mode and for prefetching
  llvm::Value* marks = nullptr;      ///< bitmap levels of workspaces and the last of an accumulator's key: a byte per position
  bool full = false;                 ///< every coordinate is stored in every fiber
  std::uint64_t longest = 0;         ///< entries of a fiber at most; 0: not known to be few
  bool constant = false;             ///< every fiber has that many
  bool adjacent = false;             ///< coordinates of a fiber follow each other
  bool from_zero = false;            ///< and begin at 0
};

struct Pattern;

struct StorageCode {
  const loop::Storage* storage = nullptr;
  loop::StorageId id = 0;
  llvm::Type* type = nullptr;     ///< of a value
  llvm::Value* values = nullptr;  ///< null where the storage lives in registers
  std::vector<LevelCode> levels;
  llvm::Value* places = nullptr;    ///< of an input whose values stand in another order: 1 + the element, by position
  llvm::Value* elements = nullptr;  ///< likewise: how many values there are
  llvm::Value* touched = nullptr;  ///< of an accumulator: the positions accumulated into
  llvm::Value* table = nullptr;    ///< HashedTable
  bool sorted = false;             ///< what drives is the table's list of sorted keys, not that of its keys
  Slot size{};                     ///< of a table that is only read in order: its tuples; none: another table
  Slot limit{};                    ///< likewise: up to so many the kernel appends them by itself
  std::vector<llvm::Value*> bits{};  ///< likewise: of the coordinates of a mode, by which keys are put together
  const Pattern* baked = nullptr;  ///< of an input whose positions and coordinates are constants
  Slot count{};                    ///< of touched positions, of a table's entries while these drive

  const Level& level(std::uint32_t number) const { return storage->levels[number]; }
};

struct Cursor {
  std::uint32_t bound = 0;  ///< levels
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;  ///< of a range of entries, or of positions none of which is told apart; null: `begin` is the position
};

struct Range {
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
};

/// Whether the positions of a range are constants and so are the coordinates there.
bool is_baked(const StorageCode& storage, const Range& range);

/// The positions of the next, sparse level under the cursor.
Range positions_below(Emitter& emit, const StorageCode& storage, const Cursor& cursor);

/// A level of an input that leaves gaps between its entries (runtime/gaps.h). Its range is that of the slots of a fiber, of
/// a bitmap that of the coordinates.
bool leaves_gaps(const StorageCode& storage, std::uint32_t level);

/// The coordinate stored at a position, in the width it is stored in.
llvm::Value* coordinate_at(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position);

/// The part of a range of positions with the coordinates of the chunk [begin, end), where the root loop walks it.
Range chunk_of(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range, llvm::Value* begin, llvm::Value* end);

/// The cursor of the entry at `position`, where the coordinate stands: of its whole run in a chain (`end` bounds it).
Cursor entry_at(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* position,
                llvm::Value* end);

/// The next, dense level at a coordinate (64 bits).
Cursor dense_at(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate);

/// The position in an accumulator's key that stands at a place of its list.
llvm::Value* touched_at(Emitter& emit, const StorageCode& storage, llvm::Value* place);

/// Whether anything was accumulated at a position of a bitmap level, or of an accumulator's key.
llvm::Value* is_marked(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position);

/// Where the search of a level goes on, of coordinates that only rise.
struct FingerCode {
  Slot place;
  llvm::Value* end = nullptr;  ///< where coordinates fall the place comes down from the fiber's end to this, its begin
};

/// Finds `coordinate` in the next, sparse level and runs `then` with the cursor below it, if it is stored. With a
/// finger, the search gallops from there and leaves it at the place found: for coordinates that only increase.
void locate_sparse(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate,
                   const FingerCode* finger, llvm::function_ref<void(const Cursor&)> then);

/// The number of a value among those of the storage's array: its position, unless values stand in another order.
llvm::Value* value_element(Emitter& emit, const StorageCode& storage, llvm::Value* position);
/// Address of a value; checks the position, and its place, in checked mode.
llvm::Value* value_address(Emitter& emit, const StorageCode& storage, llvm::Value* position);
/// Fetches values that are read through places, some positions behind this one, into the second cache. Nothing for others.
void fetch_placed(Emitter& emit, const StorageCode& storage, llvm::Value* position);

}  // namespace weft
