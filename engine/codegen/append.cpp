// Outputs with compressed levels, written by appending. Size and room of the last compressed level live in registers;
// everything else with the Worker, where the engine that grows it finds and changes it: levels above have few entries, and
// registers kept through a whole nest cost compile time.
//
// A fiber is opened where its loop begins: the ends of all parents before it are written, which costs nothing per
// entry. An entry above others is pushed when its body has appended something below it; an entry of the last compressed
// level when something was accumulated into it.
#include <algorithm>
#include <cstddef>

#include "engine/codegen/generate.h"
#include "engine/codegen/long_sum.h"
#include "runtime/abi.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

std::uint32_t last_compressed(const loop::Storage& storage) {
  auto level = static_cast<std::uint32_t>(storage.levels.size());
  while (!is_compressed(storage.levels[level - 1].kind)) --level;
  return level - 1;
}

std::uint32_t next_compressed(const loop::Storage& storage, std::uint32_t level) {
  do ++level;
  while (!is_compressed(storage.levels[level].kind));
  return level;
}

}  // namespace

/// Address of a member of AppendedLevel.
llvm::Value* Generator::appended_level(loop::StorageId storage, std::uint32_t level, std::uint64_t offset) {
  return emit_->address(emit_->ir().getInt8Ty(), appended_.at(storage).levels,
                        emit_->constant(level * sizeof(AppendedLevel) + offset));
}

void Generator::receive_appended() {
  const Signature words = signature(program_);
  if (words.appended.empty()) return;
  llvm::Type* byte = emit_->ir().getInt8Ty();
  llvm::Value* outputs = emit_->worker_member(offsetof(Worker, appended));
  for (std::size_t n = 0; n < words.appended.size(); ++n) {
    const loop::StorageId id = words.appended[n];
    const loop::Storage& storage = program_.storages[id];
    AppendedCode& code = appended_[id];
    code.output = emit_->address(byte, outputs, emit_->constant(n * sizeof(AppendedOutput)));
    code.levels = emit_->load(emit_->ir().getPtrTy(),
                              emit_->address(byte, code.output, emit_->constant(offsetof(AppendedOutput, levels))), 8);
    code.last = last_compressed(storage);
    code.size = emit_->slot(emit_->load(emit_->word(), appended_level(id, code.last, offsetof(AppendedLevel, size)), 8));
    code.room = emit_->slot(appended_room(id, code.last));
  }
}

/// Entries of a level that fit without growing.
llvm::Value* Generator::appended_room(loop::StorageId storage, std::uint32_t level) {
  const AppendedCode& code = appended_.at(storage);
  llvm::Value* room =
      emit_->load(emit_->word(), appended_level(storage, level, offsetof(AppendedLevel, crd_capacity)), 8);
  if (level < code.last) return room;
  llvm::Value* place = emit_->address(emit_->ir().getInt8Ty(), code.output,
                                      emit_->constant(offsetof(AppendedOutput, values_capacity)));
  return emit_->minimum(room, emit_->load(emit_->word(), place, 8));
}

llvm::Value* Generator::appended_size(loop::StorageId storage, std::uint32_t level) {
  const AppendedCode& code = appended_.at(storage);
  if (level == code.last) return emit_->get(code.size);
  return emit_->load(emit_->word(), appended_level(storage, level, offsetof(AppendedLevel, size)), 8);
}

void Generator::store_appended_size(loop::StorageId storage) {
  const AppendedCode& code = appended_.at(storage);
  emit_->store(emit_->get(code.size), appended_level(storage, code.last, offsetof(AppendedLevel, size)), 8);
}

/// Calls the engine; the kernel ends with what it says unless that is `done`.
void Generator::grow(loop::StorageId storage, std::uint32_t level, llvm::Value* parents, llvm::Value* entries) {
  llvm::IRBuilder<>& ir = emit_->ir();
  store_appended_size(storage);
  llvm::Type* word = emit_->word();
  llvm::FunctionType* type = llvm::FunctionType::get(ir.getInt32Ty(), {ir.getPtrTy(), word, word, word}, false);
  llvm::Value* status = ir.CreateCall(type, emit_->worker_member(offsetof(Worker, grow)),
                                      {appended_.at(storage).output, emit_->constant(level), parents, entries});
  emit_->return_unless_done(status);
  if (level == appended_.at(storage).last) emit_->set(appended_.at(storage).room, appended_room(storage, level));
}

void Generator::make_room(loop::StorageId storage, std::uint32_t level, llvm::Value* entries) {
  const AppendedCode& code = appended_.at(storage);
  llvm::Value* room = level == code.last ? emit_->get(code.room) : appended_room(storage, level);
  emit_->if_rarely(emit_->ir().CreateICmpUGT(entries, room), [&] {
    grow(storage, level, emit_->load(emit_->word(), appended_level(storage, level, offsetof(AppendedLevel, closed)), 8),
         entries);
  });
}

/// Before a loop appends below a parent: the ends of all parents before that one.
void Generator::open_fibers(std::span<const loop::Step> steps, const Scope& scope) {
  if (options_.symbolic) return;
  for (const loop::Step& step : steps) {
    if (step.use != loop::Use::append) continue;
    const loop::StorageId id = program_.accesses[step.access].storage;
    const std::uint32_t level = scope.cursors[step.access].bound;
    if (level == 0) continue;  // one parent
    llvm::Value* parent = scope.cursors[step.access].begin;
    llvm::IRBuilder<>& ir = emit_->ir();
    llvm::Value* place = appended_level(id, level, offsetof(AppendedLevel, closed));
    const auto make_room_for_ends = [&](llvm::Value* size) {
      llvm::Value* room =
          emit_->load(emit_->word(), appended_level(id, level, offsetof(AppendedLevel, pos_capacity)), 8);
      emit_->if_rarely(ir.CreateICmpUGT(parent, room), [&] { grow(id, level, parent, size); });
      return emit_->load(ir.getPtrTy(), appended_level(id, level, offsetof(AppendedLevel, pos)), 8);
    };
    if (is_compressed(program_.storages[id].levels[level - 1].kind)) {
      // The parent before was opened, or this one is the next to take its number.
      llvm::Value* size = appended_size(id, level);
      llvm::Value* pos = make_room_for_ends(size);
      emit_->store(size, emit_->address(emit_->word(), pos, parent), 8);
      emit_->store(parent, place, 8);
      continue;
    }
    const Slot closed = emit_->slot(emit_->load(emit_->word(), place, 8));
    emit_->if_then(ir.CreateICmpULT(emit_->get(closed), parent), [&] {
      llvm::Value* size = appended_size(id, level);
      llvm::Value* pos = make_room_for_ends(size);
      emit_->while_loop([&] { return ir.CreateICmpULT(emit_->get(closed), parent); },
                        [&] {
                          llvm::Value* next = emit_->add(emit_->get(closed), emit_->constant(1));
                          emit_->store(size, emit_->address(emit_->word(), pos, next), 8);
                          emit_->set(closed, next);
                        });
      emit_->store(parent, place, 8);
    });
  }
}

void Generator::push_coordinate(loop::StorageId storage, std::uint32_t level, llvm::Value* position,
                                llvm::Value* coordinate) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const StorageCode& code = storages_[storage];
  if (emit_->checked())
    emit_->check(ir.CreateICmpULT(coordinate, code.levels[level].extent), {storage, level}, coordinate);
  const unsigned bits = code.level(level).crd_bits;
  llvm::Type* type = ir.getIntNTy(bits);
  llvm::Value* crd = emit_->load(ir.getPtrTy(), appended_level(storage, level, offsetof(AppendedLevel, crd)), 8);
  emit_->store(emit_->narrowed(coordinate, bits), emit_->address(type, crd, position), bits / 8);
  count_entry(storage, level, position);
}

/// There is one more than `position` entries now.
void Generator::count_entry(loop::StorageId storage, std::uint32_t level, llvm::Value* position) {
  llvm::Value* size = emit_->add(position, emit_->constant(1));
  if (level == appended_.at(storage).last)
    emit_->set(appended_.at(storage).size, size);
  else
    emit_->store(size, appended_level(storage, level, offsetof(AppendedLevel, size)), 8);
}

void Generator::append_entry(loop::AccessId access, llvm::Value* coordinate, Filling filling, const Scope& scope,
                             Then then) {
  const loop::StorageId id = program_.accesses[access].storage;
  const std::uint32_t level = scope.cursors[access].bound;
  const AppendedCode& code = appended_.at(id);
  if (level == code.last) {
    append_leaf(access, coordinate, filling, scope, then);
    return;
  }
  const std::uint32_t below = next_compressed(program_.storages[id], level);
  llvm::Value* before = appended_size(id, below);
  llvm::Value* position = appended_size(id, level);
  Scope inner = scope;
  inner.cursors[access] = {level + 1, position, nullptr};
  then(inner);
  if (options_.symbolic) {
    emit_->if_then(emit_->ir().CreateICmpNE(appended_size(id, below), before), [&] { count_entry(id, level, position); });
    return;
  }
  emit_->if_then(emit_->ir().CreateICmpNE(appended_size(id, below), before), [&] {
    make_room(id, level, emit_->add(position, emit_->constant(1)));
    push_coordinate(id, level, position, coordinate);
  });
  if (below == level + 1) return;
  // The next entry takes the position of one that was not pushed, and the parents in between, some of them closed.
  llvm::Value* parents = position;
  for (std::uint32_t dense = level + 1; dense < below; ++dense)
    parents = emit_->mul(parents, storages_[id].levels[dense].extent);
  emit_->if_then(emit_->ir().CreateICmpEQ(appended_size(id, below), before), [&] {
    llvm::Value* place = appended_level(id, below, offsetof(AppendedLevel, closed));
    emit_->store(emit_->minimum(emit_->load(emit_->word(), place, 8), parents), place, 8);
  });
}

/// An entry with its values: one scalar, summed in a register until it is stored, or a block of zeros to add to, unless all
/// of it is written at once.
void Generator::append_leaf(loop::AccessId access, llvm::Value* coordinate, Filling filling, const Scope& scope,
                            Then then) {
  const loop::StorageId id = program_.accesses[access].storage;
  StorageCode& storage = storages_[id];
  const AppendedCode& code = appended_.at(id);
  const std::uint32_t level = code.last;
  const bool scalar = level + 1 == storage.levels.size();
  llvm::IRBuilder<>& ir = emit_->ir();
  const auto load_values = [&] {
    llvm::Value* place = emit_->address(ir.getInt8Ty(), code.output, emit_->constant(offsetof(AppendedOutput, values)));
    storage.values = emit_->load(ir.getPtrTy(), place, 8);
  };
  llvm::Value* position = appended_size(id, level);
  llvm::Value* behind = emit_->add(position, emit_->constant(1));
  Scope inner = scope;
  inner.cursors[access] = {level + 1, position, nullptr};
  if (!filling.certain) inner.flags[id] = emit_->slot(ir.getFalse());
  if (options_.symbolic) {
    then(inner);
    const auto counted = [&] { count_entry(id, level, position); };
    if (filling.certain)
      counted();
    else
      emit_->if_then(emit_->get(inner.flags[id]), counted);
    return;
  }
  inner.fresh[id] = !scalar && filling.whole;
  if (scalar) {
    inner.held[id] = {emit_->slot(llvm::ConstantFP::get(storage.type, 0.0))};
  } else {
    make_room(id, level, behind);
    load_values();
    llvm::Value* elements = block_elements(storage, level + 1);
    const unsigned bytes = scalar_bytes(storage.storage->scalar);
    if (!inner.fresh[id])
      ir.CreateMemSet(emit_->address(storage.type, storage.values, emit_->mul(position, elements)), ir.getInt8(0),
                      emit_->mul(elements, emit_->constant(bytes)), llvm::Align(bytes));
    if (emit_->checked()) storage.levels.back().positions = emit_->mul(behind, elements);
  }
  LongSum sum(*this, storage, scalar ? inner.held[id] : std::vector<Slot>{});
  then(inner);
  sum.end();
  const auto keep = [&] {
    if (scalar) {
      make_room(id, level, behind);
      load_values();
      emit_->store(emit_->get(inner.held[id].front()), emit_->address(storage.type, storage.values, position),
                   scalar_bytes(storage.storage->scalar));
    }
    push_coordinate(id, level, position, coordinate);
  };
  if (filling.certain)
    keep();
  else
    emit_->if_then(emit_->get(inner.flags[id]), keep);
}

}  // namespace weft
