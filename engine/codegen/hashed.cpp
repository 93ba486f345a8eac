// Workspaces with a hashed key: what the runtime's functions do for them, and where their entries lie.
#include <cstddef>

#include "engine/codegen/generate.h"
#include "runtime/abi.h"

namespace weft {

void Generator::open_tables() {
  const Signature words = signature(program_);
  if (words.hashed.empty() && words.sorted.empty()) return;
  llvm::Value* tables = emit_->worker_member(offsetof(Worker, tables));
  for (std::size_t n = 0; n < words.sorted.size(); ++n)
    lists_[{words.sorted[n].access, words.sorted[n].level}] = emit_->address(
        emit_->ir().getInt8Ty(), tables, emit_->constant((words.hashed.size() + n) * sizeof(HashedTable)));
  for (std::size_t n = 0; n < words.hashed.size(); ++n) {
    StorageCode& storage = storages_[words.hashed[n]];
    const std::uint32_t key = key_levels(*storage.storage);
    storage.table = emit_->address(emit_->ir().getInt8Ty(), tables, emit_->constant(n * sizeof(HashedTable)));
    storage.count = emit_->slot(emit_->constant(0));
    llvm::Value* block = emit_->mul(block_elements(storage, key), emit_->constant(scalar_bytes(storage.storage->scalar)));
    llvm::Value* extents = emit_->words(key);
    for (std::uint32_t level = 0; level < key; ++level)
      emit_->store(storage.levels[level].extent, emit_->address(emit_->word(), extents, emit_->constant(level)), 8);
    const bool gathers = is_read_in_order_only(program_, storage.id);
    const std::uint64_t scalars = gathers ? scalar_bytes(storage.storage->scalar) : 0;
    emit_->call("weft_hashed_open", emit_->ir().getVoidTy(), {storage.table, emit_->constant(key), block, extents, emit_->constant(scalars)});
  }
}

llvm::Value* Generator::table_member(const StorageCode& storage, std::uint64_t offset, llvm::Type* type) {
  return emit_->load(type, emit_->address(emit_->ir().getInt8Ty(), storage.table, emit_->constant(offset)),
                     type->isIntegerTy(32) ? 4 : 8);
}

/// Values move as the table grows, so they are looked for wherever an entry was found.
void Generator::find_values(StorageCode& storage) {
  storage.values = table_member(storage, offsetof(HashedTable, values), emit_->ir().getPtrTy());
  if (!emit_->checked()) return;
  const std::uint32_t key = key_levels(*storage.storage);
  llvm::Value* positions = table_member(storage, offsetof(HashedTable, size), emit_->word());
  for (std::uint32_t level = 0; level < storage.levels.size(); ++level) {
    if (level >= key) positions = emit_->mul(positions, storage.levels[level].extent);
    storage.levels[level].positions = positions;
  }
}

void Generator::list_table(loop::StorageId workspace, bool sort) {
  StorageCode& storage = storages_[workspace];
  llvm::IRBuilder<>& ir = emit_->ir();
  if (sort) emit_->return_unless_done(emit_->call("weft_hashed_sort", ir.getInt32Ty(), {storage.table}));
  storage.sorted = sort;
  llvm::Value* list =
      table_member(storage, sort ? offsetof(HashedTable, sorted) : offsetof(HashedTable, keys), ir.getPtrTy());
  for (std::uint32_t level = 0; level < key_levels(*storage.storage); ++level) storage.levels[level].crd = list;
  const std::uint64_t listed = sort ? offsetof(HashedTable, listed) : offsetof(HashedTable, size);
  emit_->set(storage.count, table_member(storage, listed, emit_->word()));
  find_values(storage);
}

/// Writes the coordinate into the key of the access; null until the key is complete.
llvm::Value* Generator::key_so_far(loop::AccessId access, llvm::Value* coordinate, const Scope& scope) {
  const StorageCode& storage = storage_of(access);
  const std::uint32_t level = scope.cursors[access].bound;
  const std::uint32_t key = key_levels(*storage.storage);
  llvm::Value*& words = keys_[access];
  if (!words) words = emit_->words(key);
  if (emit_->checked())
    emit_->check(emit_->ir().CreateICmpULT(coordinate, storage.levels[level].extent), {storage.id, level}, coordinate);
  emit_->store(coordinate, emit_->address(emit_->word(), words, emit_->constant(level)), 8);
  return level + 1 == key ? words : nullptr;
}

void Generator::insert_hashed(loop::AccessId access, llvm::Value* coordinate, bool certain, const Scope& scope,
                              Then then) {
  StorageCode& storage = storages_[program_.accesses[access].storage];
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Value* key = key_so_far(access, coordinate, scope);
  Scope inner = scope;
  inner.cursors[access] = {scope.cursors[access].bound + 1, emit_->constant(0), nullptr};
  if (!key) {
    then(inner);
    return;
  }
  llvm::Value* entry = emit_->call("weft_hashed_insert", emit_->word(), {storage.table, key});
  emit_->if_rarely(ir.CreateICmpEQ(entry, emit_->constant(no_entry)), [&] {
    emit_->return_unless_done(table_member(storage, offsetof(HashedTable, status), ir.getInt32Ty()));
  });
  find_values(storage);
  llvm::Value* made = certain ? nullptr : table_member(storage, offsetof(HashedTable, made), emit_->word());
  inner.cursors[access].begin = entry;
  if (!certain) inner.flags[storage.id] = emit_->slot(ir.getFalse());
  then(inner);
  if (certain) return;
  llvm::Value* empty = ir.CreateNot(emit_->get(inner.flags[storage.id]));
  emit_->if_then(ir.CreateAnd(ir.CreateICmpNE(made, emit_->constant(0)), empty),
                 [&] { emit_->call("weft_hashed_remove_last", ir.getVoidTy(), {storage.table}); });
}

void Generator::locate_hashed(loop::AccessId access, llvm::Value* coordinate, const Scope& scope, Then then) {
  StorageCode& storage = storages_[program_.accesses[access].storage];
  llvm::Value* key = key_so_far(access, coordinate, scope);
  Scope inner = scope;
  inner.cursors[access] = {scope.cursors[access].bound + 1, emit_->constant(0), nullptr};
  if (!key) {
    then(inner);
    return;
  }
  llvm::Value* entry = emit_->call("weft_hashed_find", emit_->word(), {storage.table, key});
  emit_->if_then(emit_->ir().CreateICmpNE(entry, emit_->constant(no_entry)), [&] {
    find_values(storage);
    inner.cursors[access].begin = entry;
    then(inner);
  });
}

}  // namespace weft
