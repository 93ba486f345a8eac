// Dense levels: position = parent * extent + coordinate, or with a stride. They drive as ranges of coordinates (dense_loop), never
// as ranges of positions.
#include "engine/codegen/level_kind.h"

namespace weft {

Cursor dense_at(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate) {
  const LevelCode& level = storage.levels[cursor.bound];
  if (emit.checked()) emit.check(below(emit, coordinate, level.extent), {storage.id, cursor.bound}, coordinate);
  llvm::Value* position = level.stride ? emit.add(cursor.begin, emit.mul(coordinate, level.stride))
                                       : emit.add(emit.mul(cursor.begin, level.extent), coordinate);
  return {cursor.bound + 1, position, nullptr};
}

namespace {

class DenseLevel final : public LevelKindCode {
 public:
  Range positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor) const override {
    llvm::Value* extent = storage.levels[cursor.bound].extent;
    if (cursor.end) return {emit.mul(cursor.begin, extent), emit.mul(cursor.end, extent)};
    return {dense_at(emit, storage, cursor, emit.constant(0)).begin, dense_at(emit, storage, cursor, extent).begin};
  }
  Cursor entry(Emitter&, const StorageCode&, const Cursor& parent, llvm::Value* place, llvm::Value*) const override {
    return {parent.bound + 1, place, nullptr};
  }
  void locate(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, const FingerCode*,
              Found then) const override {
    then(dense_at(emit, storage, cursor, coordinate));
  }
};

}  // namespace

const LevelKindCode& dense_level() {
  static constexpr DenseLevel kind;
  return kind;
}

}  // namespace weft
