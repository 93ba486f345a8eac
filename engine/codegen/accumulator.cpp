// Accumulators, of workspaces only: values and a mark for every coordinate of the key, and the list of those touched, which drives.
// A key of several modes is one number in marks and list; its coordinates by mode are written out when it drives.
#include "engine/codegen/generate.h"
#include "engine/codegen/sorted_level.h"

namespace weft {

namespace {

class AccumulatorLevel final : public LevelKindCode {
 public:
  Range positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor) const override {
    return key_positions(emit, storage, cursor);
  }
  Cursor entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* place, llvm::Value* end) const override {
    return key_entry(emit, storage, parent, place, end);
  }
  void locate(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, const FingerCode*,
              Found then) const override {
    locate_marked(emit, storage, cursor, coordinate, then);
  }
};

}  // namespace

const LevelKindCode& accumulator_level() {
  static constexpr AccumulatorLevel kind;
  return kind;
}

/// The list as it is, or in increasing order. A key of several modes is driven mode by mode, which takes runs of equal coordinates.
void Generator::list_accumulator(loop::StorageId workspace, bool sort) {
  const bool runs = key_levels(program_.storages[workspace]) > 1;
  if (sort || runs) sort_touched(workspace);
  if (runs) split_keys(workspace);
}

void Generator::sort_touched(loop::StorageId workspace) {
  const StorageCode& storage = storages_[workspace];
  const std::uint32_t key = key_levels(*storage.storage);
  llvm::Value* extent = emit_->constant(1);
  for (std::uint32_t level = 0; level < key; ++level) extent = emit_->mul(extent, storage.levels[level].extent);
  emit_->call(touched_bytes(*storage.storage) == 4 ? "weft_sort_touched_32" : "weft_sort_touched_64",
              emit_->ir().getVoidTy(),
              {storage.touched, emit_->get(storage.count), storage.levels[key - 1].marks, extent});
}

/// The coordinates by mode of a key of several, in the order of the list.
void Generator::split_keys(loop::StorageId workspace) {
  const StorageCode& storage = storages_[workspace];
  const std::uint32_t key = key_levels(*storage.storage);
  llvm::IRBuilder<>& ir = emit_->ir();
  const Slot place = emit_->slot(emit_->constant(0));
  emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(place), emit_->get(storage.count)); },
                    [&] {
                      llvm::Value* at = emit_->get(place);
                      llvm::Value* rest = touched_at(*emit_, storage, at);
                      for (std::uint32_t level = key; level-- > 0;) {
                        const LevelCode& code = storage.levels[level];
                        llvm::Value* coordinate = level > 0 ? ir.CreateURem(rest, code.extent) : rest;
                        if (level > 0) rest = ir.CreateUDiv(rest, code.extent);
                        const unsigned bits = storage.level(level).crd_bits;
                        llvm::Type* type = ir.getIntNTy(bits);
                        emit_->store(emit_->narrowed(coordinate, bits), emit_->address(type, code.crd, at), bits / 8);
                      }
                      emit_->set(place, emit_->add(at, emit_->constant(1)));
                    });
}

/// Clears the marks of what is listed.
void Generator::forget_touched(loop::StorageId workspace) {
  const StorageCode& storage = storages_[workspace];
  const Slot place = emit_->slot(emit_->constant(0));
  emit_->while_loop([&] { return emit_->ir().CreateICmpULT(emit_->get(place), emit_->get(storage.count)); },
                    [&] {
                      forget(workspace, touched_at(*emit_, storage, emit_->get(place)));
                      emit_->set(place, emit_->add(emit_->get(place), emit_->constant(1)));
                    });
}

}  // namespace weft
