// Workspaces that know their entries. An accumulator has values, a mark per coordinate of its key and the list of the
// coordinates touched; a bitmap has values and marks, which are listed when it drives. Keys of several modes are linear in
// both. Marks are bytes: to set one reads nothing. Those of keys are clean outside of every `with`, at the cost of what was
// touched, those of bitmaps below other levels are cleared where their `with` begins.
#include <algorithm>
#include <cstddef>

#include "engine/codegen/generate.h"
#include "engine/codegen/long_sum.h"
#include "runtime/abi.h"
#include "runtime/level_traits.h"

namespace weft {

/// Scratch is shared by kernels, so that a kernel finds anything there when it starts, but for what a worker ran of it before: a table of
/// two modes of 5000 coordinates has 24 MB of marks, which every chunk would clear.
void Generator::clean_marks() {
  const auto has_marks = [](const StorageCode& storage) { return key_levels(*storage.storage) > 0 && storage.touched; };
  if (std::ranges::none_of(storages_, has_marks)) return;
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Value* place = emit_->worker_place(offsetof(Worker, clean));
  emit_->if_then(ir.CreateICmpEQ(emit_->load(emit_->word(), place, 8), emit_->constant(0)), [&] {
    for (const StorageCode& storage : storages_) {
      if (!has_marks(storage)) continue;
      const std::uint32_t key = key_levels(*storage.storage);
      llvm::Value* marks = emit_->constant(1);
      for (std::uint32_t level = 0; level < key; ++level) marks = emit_->mul(marks, storage.levels[level].extent);
      ir.CreateMemSet(storage.levels[key - 1].marks, ir.getInt8(0), marks, llvm::Align(8));
    }
    emit_->store(emit_->constant(1), place, 8);
  });
}

void Generator::open_workspace(loop::StorageId workspace) {
  const StorageCode& storage = storages_[workspace];
  if (storage.table) return;  // empty outside of its `with`
  if (key_levels(*storage.storage) > 0) {
    emit_->set(storage.count, emit_->constant(0));
    return;
  }
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Value* elements = emit_->constant(1);
  for (const LevelCode& level : storage.levels) {
    elements = emit_->mul(elements, level.extent);
    if (level.marks) ir.CreateMemSet(level.marks, ir.getInt8(0), elements, llvm::Align(8));
  }
  if (options_.symbolic) return;
  llvm::Value* bytes = emit_->mul(elements, emit_->constant(scalar_bytes(storage.storage->scalar)));
  ir.CreateMemSet(storage.values, ir.getInt8(0), bytes, llvm::Align(8));
}

void Generator::forget(loop::StorageId workspace, llvm::Value* position) {
  const StorageCode& storage = storages_[workspace];
  llvm::Value* marks = storage.levels[key_levels(*storage.storage) - 1].marks;
  emit_->store(emit_->ir().getInt8(0), emit_->address(emit_->ir().getInt8Ty(), marks, position), 1);
}

void Generator::close_workspace(const loop::With& statement) {
  const StorageCode& storage = storages_[statement.workspace];
  if (storage.table) {
    store_table_size(storage);
    emit_->call("weft_hashed_clear", emit_->ir().getVoidTy(), {storage.table});
    load_table_size(storage);
  }
  const loop::For* last = last_drain(program_, statement);
  if (!storage.touched || forgetting_.contains(last)) return;
  if (has_bits(storage.level(0).kind))
    forget_bitmap(statement.workspace);
  else
    forget_touched(statement.workspace);
}

void Generator::insert_entry(loop::AccessId access, llvm::Value* coordinate, bool certain, const Scope& scope,
                             Then then) {
  const StorageCode& storage = storage_of(access);
  const std::uint32_t level = scope.cursors[access].bound;
  if (storage.table) {
    insert_hashed(access, coordinate, certain, scope, then);
    return;
  }
  llvm::IRBuilder<>& ir = emit_->ir();
  Scope inner = scope;
  inner.cursors[access] = dense_at(*emit_, storage, scope.cursors[access], coordinate);
  llvm::Value* marks = storage.levels[level].marks;
  if (!marks) {  // the key goes on
    then(inner);
    return;
  }
  llvm::Value* position = inner.cursors[access].begin;
  llvm::Value* mark = emit_->address(ir.getInt8Ty(), marks, position);
  if (!certain && !inner.flags[storage.id].place()) inner.flags[storage.id] = emit_->slot(ir.getFalse());
  const auto set_mark = [&] { emit_->store(ir.getInt8(1), mark, 1); };
  const bool listed = is_listed(storage.level(level).kind);
  if (!listed && key_levels(*storage.storage) == 0) {
    if (certain) set_mark();
    then(inner);
    if (!certain) emit_->if_then(emit_->get(inner.flags[storage.id]), set_mark);
    return;
  }
  llvm::Value* fresh = ir.CreateICmpEQ(emit_->load(ir.getInt8Ty(), mark, 1), ir.getInt8(0));
  const auto push = [&] {  // written in any case, counted if new: no branch, which no processor could foresee
    const unsigned bytes = touched_bytes(*storage.storage);
    llvm::Type* type = ir.getIntNTy(bytes * 8);
    llvm::Value* count = emit_->get(storage.count);
    set_mark();
    if (!listed) return;
    emit_->store(emit_->narrowed(position, bytes * 8), emit_->address(type, storage.touched, count), bytes);
    emit_->set(storage.count, emit_->add(count, emit_->widen(fresh)));
  };
  const bool scalar = level + 1 == storage.levels.size();
  const unsigned bytes = scalar_bytes(storage.storage->scalar);
  if (certain) push();
  if (options_.symbolic) {
    then(inner);
    if (!certain) emit_->if_then(emit_->get(inner.flags[storage.id]), push);
    return;
  }
  if (!scalar) {
    emit_->if_then(fresh, [&] {
      llvm::Value* elements = block_elements(storage, level + 1);
      ir.CreateMemSet(emit_->address(storage.type, storage.values, emit_->mul(position, elements)), ir.getInt8(0),
                      emit_->mul(elements, emit_->constant(bytes)), llvm::Align(bytes));
    });
    then(inner);
    if (!certain) emit_->if_then(emit_->get(inner.flags[storage.id]), push);
    return;
  }
  llvm::Value* place = value_address(*emit_, storage, position);
  llvm::Value* zero = llvm::ConstantFP::get(storage.type, 0.0);
  inner.held[storage.id] = {emit_->slot(ir.CreateSelect(fresh, zero, emit_->load(storage.type, place, bytes)))};
  LongSum sum(*this, storage, inner.held[storage.id]);
  then(inner);
  sum.end();
  const auto keep = [&] {
    if (!certain) push();
    emit_->store(emit_->get(inner.held[storage.id].front()), place, bytes);
  };
  if (certain)
    keep();
  else
    emit_->if_then(emit_->get(inner.flags[storage.id]), keep);
}

/// What drives.
void Generator::list_entries(loop::StorageId workspace, bool sort) {
  if (storages_[workspace].table)
    list_table(workspace, sort || key_levels(program_.storages[workspace]) > 1);
  else if (has_bits(storages_[workspace].level(0).kind))
    list_bitmap(workspace);
  else
    list_accumulator(workspace, sort);
}

}  // namespace weft
