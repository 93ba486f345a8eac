// Outputs that a kernel begins itself (begun.h), where the worker says that they hold anything: an iteration of the root loop clears its
// block right before it adds to it, or stores its products where it writes each element once.
#include <algorithm>
#include <cstddef>

#include "engine/codegen/begun.h"
#include "engine/codegen/generate.h"
#include "runtime/abi.h"

namespace weft {

void Generator::receive_fresh() {
  const std::vector<std::uint32_t> begun = signature(program_).begun;
  if (begun.empty() || options_.symbolic) return;
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Value* bits = emit_->load(emit_->word(), emit_->worker_place(offsetof(Worker, fresh)), 8);
  whole_.resize(storages_.size(), nullptr);
  for (const BegunOutput& output : begun_outputs(program_)) {
    const auto bit = std::ranges::find(begun, output.storage);
    if (bit == begun.end()) continue;
    const std::uint64_t mask = std::uint64_t{1} << (bit - begun.begin());
    llvm::Value* fresh = ir.CreateICmpNE(ir.CreateAnd(bits, emit_->constant(mask)), emit_->constant(0));
    if (output.whole) whole_[output.storage] = ir.CreateNot(fresh);
    if (!output.rows) continue;
    begun_.push_back({output.storage, output.whole, fresh, leaves_rows_out(program_) ? emit_->slot(begin_) : Slot()});
  }
}

/// Zeros in the rows of some coordinates of the root loop.
void Generator::zero_rows(const StorageCode& storage, llvm::Value* first, llvm::Value* count) {
  const unsigned bytes = scalar_bytes(storage.storage->scalar);
  llvm::Value* row = block_elements(storage, 1);
  llvm::Value* place = emit_->address(storage.type, storage.values, emit_->mul(first, row));
  emit_->ir().CreateMemSet(place, emit_->ir().getInt8(0), emit_->mul(emit_->mul(count, row), emit_->constant(bytes)), llvm::Align(bytes));
}

/// Where the body of the root loop begins: the rows of the coordinates left out since the last, and that of this one if it is not stored.
void Generator::begin_rows(const loop::For& each, const Scope& scope) {
  if (begun_.empty() || &each != &std::get<loop::For>(program_.body.front().node)) return;
  llvm::Value* coordinate = scope.coordinates[each.index];
  for (const Begun& output : begun_) {
    const StorageCode& storage = storages_[output.storage];
    llvm::Value* first = output.next.place() ? emit_->get(output.next) : coordinate;
    llvm::Value* left_out = emit_->sub(coordinate, first);
    if (!output.whole)
      emit_->if_then(output.fresh, [&] { zero_rows(storage, first, emit_->add(left_out, emit_->constant(1))); });
    else if (output.next.place())
      emit_->if_rarely(emit_->ir().CreateAnd(output.fresh, emit_->ir().CreateICmpNE(left_out, emit_->constant(0))),
                       [&] { zero_rows(storage, first, left_out); });
    if (output.next.place()) emit_->set(output.next, emit_->add(coordinate, emit_->constant(1)));
  }
}

/// Behind the root loop: the rows of the coordinates left out at its end.
void Generator::end_rows() {
  for (const Begun& output : begun_) {
    if (!output.next.place()) continue;
    const auto& root = std::get<loop::For>(program_.body.front().node);
    emit_->if_then(output.fresh, [&] {
      llvm::Value* first = emit_->get(output.next);
      zero_rows(storages_[output.storage], first, emit_->sub(emit_->minimum(end_, extents_[root.index]), first));
    });
  }
}

llvm::Value* Generator::held_before(const StorageCode& storage, llvm::Type* type, llvm::function_ref<llvm::Value*()> load) {
  if (!is_stored_whole(storage)) return load();
  const Slot before = emit_->slot(llvm::Constant::getNullValue(type));
  emit_->if_then(whole_[storage.id], [&] { emit_->set(before, load()); });
  return emit_->get(before);
}

}  // namespace weft
