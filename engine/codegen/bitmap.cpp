// Bitmaps. Of an input a bit per coordinate tells which there are (runtime/gaps.h): positions are those of a dense level, the range
// that drives is one of coordinates. Of a workspace there is a byte per coordinate, a mark: above dense levels alone the marks are
// listed when they drive, like a key; below other levels the loop runs over all coordinates with a look at the marks.
#include "engine/codegen/generate.h"
#include "engine/codegen/level_kind.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

/// The word of 64 bits that tells of a coordinate, of the bitmap of the position that the cursor stands at.
llvm::Value* word_of_bits(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate) {
  llvm::IRBuilder<>& ir = emit.ir();
  llvm::Value* words = ir.CreateLShr(emit.add(storage.levels[cursor.bound].extent, emit.constant(63)), 6);
  llvm::Value* word = emit.add(emit.mul(cursor.begin, words), ir.CreateLShr(coordinate, 6));
  return emit.load(emit.word(), emit.address(emit.word(), storage.levels[cursor.bound].crd, word), 8);
}

class BitmapLevel final : public LevelKindCode {
 public:
  Range positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor) const override {
    if (!leaves_gaps(storage, cursor.bound)) return key_positions(emit, storage, cursor);
    return {emit.constant(0), storage.levels[cursor.bound].extent};
  }

  Cursor entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* place, llvm::Value* end) const override {
    return leaves_gaps(storage, parent.bound) ? dense_at(emit, storage, parent, place) : key_entry(emit, storage, parent, place, end);
  }

  llvm::Value* coordinate(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* place) const override {
    return leaves_gaps(storage, level) ? place : LevelKindCode::coordinate(emit, storage, level, place);
  }

  Range chunk(Emitter& emit, const StorageCode&, std::uint32_t, const Range& range, llvm::Value* begin, llvm::Value* end) const override {
    return {begin, emit.minimum(end, range.end)};
  }

  llvm::Value* next(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* place, llvm::Value* end) const override {
    return first_place(emit, place, end, [&](llvm::Value* here, Slot at) {
      llvm::IRBuilder<>& ir = emit.ir();
      llvm::Value* word = word_of_bits(emit, storage, cursor, here);
      llvm::Value* bits = ir.CreateLShr(word, ir.CreateAnd(here, emit.constant(63)));
      llvm::Value* found = ir.CreateICmpNE(bits, emit.constant(0));
      llvm::Value* first = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, ir.getFalse());
      llvm::Value* next = emit.add(ir.CreateOr(here, emit.constant(63)), emit.constant(1));
      emit.set(at, ir.CreateSelect(found, emit.add(here, first), next));
      return found;
    });
  }

  llvm::Value* taken(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* block, llvm::Value*,
                     unsigned) const override {
    return word_of_bits(emit, storage, cursor, block);
  }
  unsigned block_places(const Level&, unsigned) const override { return 64; }
  llvm::Value* first_block(Emitter& emit, llvm::Value* begin) const override {
    return emit.ir().CreateAnd(begin, emit.constant(~std::uint64_t{63}));
  }

  void locate(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, const FingerCode*,
              Found then) const override {
    if (!leaves_gaps(storage, cursor.bound)) {
      locate_marked(emit, storage, cursor, coordinate, then);
      return;
    }
    llvm::IRBuilder<>& ir = emit.ir();
    llvm::Value* word = word_of_bits(emit, storage, cursor, coordinate);
    llvm::Value* bit = ir.CreateLShr(word, ir.CreateAnd(coordinate, emit.constant(63)));
    emit.if_then(ir.CreateTrunc(bit, ir.getInt1Ty()), [&] { then(dense_at(emit, storage, cursor, coordinate)); });
  }
};

}  // namespace

const LevelKindCode& bitmap_level() {
  static constexpr BitmapLevel kind;
  return kind;
}

/// What drives: the marks, listed in order.
void Generator::list_bitmap(loop::StorageId workspace) {
  const StorageCode& storage = storages_[workspace];
  emit_->set(storage.count, emit_->call("weft_list_marked_32", emit_->word(),
                                        {storage.touched, storage.levels[0].marks, storage.levels[0].extent}));
}

/// Clears all marks, which is less than to go through a list.
void Generator::forget_bitmap(loop::StorageId workspace) {
  const StorageCode& storage = storages_[workspace];
  emit_->ir().CreateMemSet(storage.levels[0].marks, emit_->ir().getInt8(0), storage.levels[0].extent, llvm::Align(8));
}

}  // namespace weft
