// Compressed levels: the entries of a fiber side by side, in order, each coordinate once; pos tells where. Outputs that have them
// grow: append.cpp.
#include "engine/codegen/sorted_level.h"

namespace weft {

namespace {

class CompressedLevel final : public LevelKindCode {
 public:
  Range positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor) const override {
    return packed_positions(emit, storage, cursor);
  }
  Cursor entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* place, llvm::Value* end) const override {
    return sorted_entry(emit, storage, parent, place, end);
  }
  void locate(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, const FingerCode* finger,
              Found then) const override {
    locate_sorted(emit, storage, cursor, coordinate, finger, then);
  }
};

}  // namespace

const LevelKindCode& compressed_level() {
  static constexpr CompressedLevel kind;
  return kind;
}

}  // namespace weft
