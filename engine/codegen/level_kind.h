// LevelKindCode: what code generation knows of one kind of level. Each kind is a file (dense, compressed, chain, hashed, bitmap,
// accumulator) with one object of its class; level.cpp asks the object of a level's kind and knows no kind itself.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/codegen/level.h"

namespace weft {

class LevelKindCode {
 public:
  using Found = llvm::function_ref<void(const Cursor&)>;

  // Iterating.
  /// Where the entries below the cursor are, of the next level, which drives.
  virtual Range positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor) const = 0;
  /// The cursor at a place of that range; `end` bounds a run of entries with one coordinate.
  virtual Cursor entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* place, llvm::Value* end) const = 0;
  /// The coordinate at a place of that range, in the width it is stored in.
  virtual llvm::Value* coordinate(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* place) const;
  /// The part of the range with the coordinates of a chunk, [begin, end), where the root loop walks it.
  virtual Range chunk(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range, llvm::Value* begin,
                      llvm::Value* end) const;

  // Iterating over a range with gaps (leaves_gaps): place by place, or a block of places at a time.
  /// The first place with an entry at or after `place`, or `end`.
  virtual llvm::Value* next(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* place, llvm::Value* end) const;
  /// Which places of a block have an entry: a bit for each.
  virtual llvm::Value* taken(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* block, llvm::Value* end,
                             unsigned places) const;
  /// How many places are a block, for vectors of so many bits; 0: places are looked at one by one.
  virtual unsigned block_places(const Level& level, unsigned vector_bits) const;
  /// Where the block begins in which the range does.
  virtual llvm::Value* first_block(Emitter& emit, llvm::Value* begin) const;

  // Locating.
  /// Runs `then` with the cursor of the coordinate (64 bits), if it is stored. `finger`: locate_sparse().
  virtual void locate(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, const FingerCode* finger,
                      Found then) const = 0;

 protected:
  ~LevelKindCode() = default;
};

/// The objects, without state: each in the file of its kind.
const LevelKindCode& dense_level();
const LevelKindCode& compressed_level();
const LevelKindCode& nonunique_level();
const LevelKindCode& singleton_level();
const LevelKindCode& hashed_level();
const LevelKindCode& bitmap_level();
const LevelKindCode& accumulator_level();

const LevelKindCode& code_of(LevelKind kind);

// What several kinds have in common.

llvm::Value* below(Emitter& emit, llvm::Value* a, llvm::Value* b);

/// The number that a value is, of a storage whose pattern is known.
std::optional<std::uint64_t> baked_number(const StorageCode& storage, llvm::Value* value);

/// From the two numbers of pos around a fiber, or computed where all fibers have as many entries.
Range packed_positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor);

/// Below the cursor of a chain: its run of entries, or the one entry.
Range positions_of_run(Emitter& emit, const Cursor& cursor);

/// What drives a key of a workspace: its list, and below its first mode the runs of that.
Range key_positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor);
Cursor key_entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* place, llvm::Value* end);

/// A number of the level's crd, of so many bits.
llvm::Value* stored_number(Emitter& emit, const StorageCode& storage, std::uint32_t level, unsigned bits, llvm::Value* place);

/// LevelKindCode::next: `step` looks at a place, sets the slot to the entry found or to where the search goes on, and says which.
llvm::Value* first_place(Emitter& emit, llvm::Value* place, llvm::Value* end, llvm::function_ref<llvm::Value*(llvm::Value*, Slot)> step);

/// Goes on where a byte says that the position was accumulated into, or at once where the level has no marks: a key goes on.
void locate_marked(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, LevelKindCode::Found then);

}  // namespace weft
