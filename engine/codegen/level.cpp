#include "engine/codegen/level.h"

#include <llvm/IR/Module.h>

#include <optional>

#include "engine/codegen/codegen.h"
#include "engine/codegen/structure.h"
#include "runtime/gaps.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

/// The number that a value is, of a storage whose pattern is known.
std::optional<std::uint64_t> baked_number(const StorageCode& storage, llvm::Value* value) {
  const auto* constant = storage.baked ? llvm::dyn_cast<llvm::ConstantInt>(value) : nullptr;
  return constant ? std::optional(constant->getZExtValue()) : std::nullopt;
}

llvm::Value* load_pos(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* index) {
  if (const auto number = baked_number(storage, index)) return emit.constant(storage.baked->pos[level].at(*number));
  llvm::Type* type = emit.ir().getIntNTy(storage.level(level).pos_bits);
  llvm::Value* place = emit.address(type, storage.levels[level].pos, index);
  return emit.widen(emit.load(type, place, storage.level(level).pos_bits / 8));
}

llvm::Value* below(Emitter& emit, llvm::Value* a, llvm::Value* b) { return emit.ir().CreateICmpULT(a, b); }

}  // namespace

bool is_baked(const StorageCode& storage, const Range& range) {
  return baked_number(storage, range.begin) && baked_number(storage, range.end);
}

llvm::Value* touched_at(Emitter& emit, const StorageCode& storage, llvm::Value* place) {
  if (storage.table) {
    if (!storage.sorted) return place;
    llvm::Value* record = emit.mul(place, emit.constant(key_levels(*storage.storage) + 1));
    llvm::Value* entry = emit.add(record, emit.constant(key_levels(*storage.storage)));
    return emit.load(emit.word(), emit.address(emit.word(), storage.levels[0].crd, entry), 8);
  }
  const unsigned bytes = touched_bytes(*storage.storage);
  llvm::Type* type = emit.ir().getIntNTy(bytes * 8);
  return emit.widen(emit.load(type, emit.address(type, storage.touched, place), bytes));
}

Range positions_below(Emitter& emit, const StorageCode& storage, const Cursor& cursor) {
  const std::uint32_t level = cursor.bound;
  if (level == 0 && key_levels(*storage.storage) > 0)
    return {emit.constant(0), emit.get(storage.count)};
  if (leaves_gaps(storage, level) && has_bits(storage.level(level).kind))
    return {emit.constant(0), storage.levels[level].extent};
  if (is_per_parent(storage.level(level).kind) || storage.level(level).joined)
    return {cursor.begin, cursor.end ? cursor.end : emit.add(cursor.begin, emit.constant(1))};
  if (emit.checked() && level > 0)
    emit.check(below(emit, cursor.begin, storage.levels[level - 1].positions), {storage.id, level}, cursor.begin);
  if (storage.levels[level].constant && !storage.baked) {
    llvm::Value* entries = emit.constant(storage.levels[level].longest);
    llvm::Value* first = emit.mul(cursor.begin, entries);
    return {first, emit.add(first, entries)};
  }
  Range range{load_pos(emit, storage, level, cursor.begin),
              load_pos(emit, storage, level, emit.add(cursor.begin, emit.constant(1)))};
  if (emit.checked()) {
    emit.check(emit.ir().CreateICmpULE(range.begin, range.end), {storage.id, level}, range.begin);
    emit.check(emit.ir().CreateICmpULE(range.end, storage.levels[level].positions), {storage.id, level}, range.end);
  }
  return range;
}

namespace {

/// The word of 64 bits that tells of a coordinate, of the bitmap of the position that the cursor stands at.
llvm::Value* word_of_bits(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate) {
  llvm::IRBuilder<>& ir = emit.ir();
  llvm::Value* words = ir.CreateLShr(emit.add(storage.levels[cursor.bound].extent, emit.constant(63)), 6);
  llvm::Value* word = emit.add(emit.mul(cursor.begin, words), ir.CreateLShr(coordinate, 6));
  return emit.load(emit.word(), emit.address(emit.word(), storage.levels[cursor.bound].crd, word), 8);
}

/// What a slot of a hashed level holds: a coordinate, or all ones.
llvm::Value* slot_at(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position) {
  const unsigned bits = storage.level(level).crd_bits;
  if (emit.checked()) emit.check(below(emit, position, storage.levels[level].positions), {storage.id, level}, position);
  llvm::Type* type = emit.ir().getIntNTy(bits);
  return emit.load(type, emit.address(type, storage.levels[level].crd, position), bits / 8);
}

llvm::Value* is_taken(Emitter& emit, llvm::Value* slot) {
  return emit.ir().CreateICmpNE(slot, llvm::Constant::getAllOnesValue(slot->getType()));
}

/// Linear probing from the highest bits of the coordinate's product with the golden ratio on: first_slot().
void locate_slot(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate,
                 llvm::function_ref<void(const Cursor&)> then) {
  const std::uint32_t level = cursor.bound;
  llvm::IRBuilder<>& ir = emit.ir();
  const Range range = positions_below(emit, storage, cursor);
  emit.if_then(below(emit, range.begin, range.end), [&] {
    llvm::Value* slots = emit.sub(range.end, range.begin);
    llvm::Value* mask = emit.sub(slots, emit.constant(1));
    llvm::Value* product = emit.mul(coordinate, emit.constant(golden_ratio));
    llvm::Value* width = ir.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, mask, ir.getFalse());
    // A fiber has two slots at least, so that this shifts by less than 64 bits.
    const Slot slot = emit.slot(ir.CreateLShr(product, width));
    llvm::Type* type = ir.getIntNTy(storage.level(level).crd_bits);
    llvm::Value* wanted = ir.CreateZExtOrTrunc(coordinate, type);
    const Slot found = emit.slot(slot_at(emit, storage, level, emit.add(range.begin, emit.get(slot))));
    emit.while_loop(
        [&] { return ir.CreateAnd(ir.CreateICmpNE(emit.get(found), wanted), is_taken(emit, emit.get(found))); },
        [&] {
          emit.set(slot, ir.CreateAnd(emit.add(emit.get(slot), emit.constant(1)), mask));
          emit.set(found, slot_at(emit, storage, level, emit.add(range.begin, emit.get(slot))));
        });
    emit.if_then(ir.CreateICmpEQ(emit.get(found), wanted),
                 [&] { then({level + 1, emit.add(range.begin, emit.get(slot)), nullptr}); });
  });
}

}  // namespace

bool leaves_gaps(const StorageCode& storage, std::uint32_t level) {
  return storage.storage->role == loop::Role::input && has_gaps(storage.level(level).kind);
}

llvm::Value* taken_places(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* place, llvm::Value* end,
                          unsigned places) {
  llvm::IRBuilder<>& ir = emit.ir();
  const std::uint32_t level = cursor.bound;
  if (has_bits(storage.level(level).kind)) return word_of_bits(emit, storage, cursor, place);
  const unsigned bits = storage.level(level).crd_bits;
  llvm::Type* type = ir.getIntNTy(bits);
  std::vector<llvm::Constant*> numbers;
  for (unsigned number = 0; number < places; ++number) numbers.push_back(llvm::ConstantInt::get(type, number));
  llvm::Value* left = ir.CreateZExtOrTrunc(emit.minimum(emit.sub(end, place), emit.constant(places)), type);
  llvm::Value* there = ir.CreateICmpULT(llvm::ConstantVector::get(numbers), ir.CreateVectorSplat(places, left));
  llvm::Type* several = llvm::FixedVectorType::get(type, places);
  llvm::Constant* free = llvm::Constant::getAllOnesValue(several);
  llvm::Value* found = ir.CreateMaskedLoad(several, emit.address(type, storage.levels[level].crd, place), llvm::Align(bits / 8), there, free);
  return ir.CreateZExt(ir.CreateBitCast(ir.CreateICmpNE(found, free), ir.getIntNTy(places)), emit.word());
}

llvm::Value* next_entry(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* place, llvm::Value* end) {
  llvm::IRBuilder<>& ir = emit.ir();
  const std::uint32_t level = cursor.bound;
  const Slot at = emit.slot(place);
  const Slot searching = emit.slot(ir.getTrue());
  emit.while_loop([&] { return ir.CreateAnd(emit.get(searching), below(emit, emit.get(at), end)); },
                  [&] {
                    llvm::Value* here = emit.get(at);
                    llvm::Value* found = nullptr;
                    if (has_bits(storage.level(level).kind)) {
                      llvm::Value* word = word_of_bits(emit, storage, cursor, here);
                      llvm::Value* bits = ir.CreateLShr(word, ir.CreateAnd(here, emit.constant(63)));
                      found = ir.CreateICmpNE(bits, emit.constant(0));
                      llvm::Value* first = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, ir.getFalse());
                      llvm::Value* next = emit.add(ir.CreateOr(here, emit.constant(63)), emit.constant(1));
                      emit.set(at, ir.CreateSelect(found, emit.add(here, first), next));
                    } else {
                      found = is_taken(emit, slot_at(emit, storage, level, here));
                      emit.set(at, ir.CreateSelect(found, here, emit.add(here, emit.constant(1))));
                    }
                    emit.set(searching, ir.CreateNot(found));
                  });
  return emit.minimum(emit.get(at), end);
}

llvm::Value* coordinate_at(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position) {
  const LevelCode& code = storage.levels[level];
  if (leaves_gaps(storage, level) && has_bits(storage.level(level).kind)) return position;
  if (const auto number = baked_number(storage, position))
    return emit.ir().getIntN(storage.level(level).crd_bits, storage.baked->crd[level].at(*number));
  if (emit.checked()) emit.check(below(emit, position, code.positions), {storage.id, level}, position);
  const unsigned bits = storage.table ? 64 : storage.level(level).crd_bits;
  if (storage.table) {
    const std::uint64_t record = key_levels(*storage.storage) + (storage.sorted ? 1 : 0);
    position = emit.add(emit.mul(position, emit.constant(record)), emit.constant(level));
  }
  llvm::Type* type = emit.ir().getIntNTy(bits);
  llvm::Value* coordinate = emit.load(type, emit.address(type, code.crd, position), bits / 8);
  if (emit.checked()) emit.check(below(emit, emit.widen(coordinate), code.extent), {storage.id, level}, coordinate);
  return coordinate;
}

llvm::Value* lower_bound(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                         llvm::Value* coordinate) {
  const Slot low = emit.slot(range.begin);
  const Slot count = emit.slot(emit.sub(range.end, range.begin));
  llvm::IRBuilder<>& ir = emit.ir();
  emit.while_loop([&] { return ir.CreateICmpNE(emit.get(count), emit.constant(0)); },
                  [&] {
                    llvm::Value* half = ir.CreateLShr(emit.get(count), 1);
                    llvm::Value* middle = emit.add(emit.get(low), half);
                    llvm::Value* smaller =
                        below(emit, emit.widen(coordinate_at(emit, storage, level, middle)), coordinate);
                    llvm::Value* behind = emit.add(middle, emit.constant(1));
                    llvm::Value* rest = emit.sub(emit.sub(emit.get(count), half), emit.constant(1));
                    emit.set(low, ir.CreateSelect(smaller, behind, emit.get(low)));
                    emit.set(count, ir.CreateSelect(smaller, rest, half));
                  });
  return emit.get(low);
}

llvm::Value* lower_bound_outlined(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                                  llvm::Value* coordinate) {
  if (emit.checked()) return lower_bound(emit, storage, level, range, coordinate);  // its checks return the status
  llvm::Module& module = emit.module();
  const std::string name = "weft_lower_bound_" + std::to_string(storage.level(level).crd_bits);
  llvm::Function* function = module.getFunction(name);
  if (!function) {
    llvm::Type* word = emit.word();
    function = llvm::Function::Create(llvm::FunctionType::get(word, {emit.ir().getPtrTy(), word, word, word}, false),
                                      llvm::GlobalValue::InternalLinkage, name, module);
    Emitter body(*function, nullptr, {});
    StorageCode any = storage;
    any.levels[level].crd = function->getArg(0);
    body.finish(lower_bound(body, any, level, {function->getArg(1), function->getArg(2)}, function->getArg(3)));
  }
  return emit.ir().CreateCall(function, {storage.levels[level].crd, range.begin, range.end, coordinate});
}

llvm::Value* gallop(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                    llvm::Value* coordinate) {
  const Slot low = emit.slot(range.begin);
  const Slot probe = emit.slot(range.begin);
  const Slot step = emit.slot(emit.constant(1));
  const Slot searching = emit.slot(emit.ir().getTrue());
  llvm::IRBuilder<>& ir = emit.ir();
  emit.while_loop([&] { return ir.CreateAnd(emit.get(searching), below(emit, emit.get(probe), range.end)); },
                  [&] {
                    llvm::Value* smaller =
                        below(emit, emit.widen(coordinate_at(emit, storage, level, emit.get(probe))), coordinate);
                    emit.set(searching, smaller);
                    emit.if_then(smaller, [&] {
                      emit.set(low, emit.add(emit.get(probe), emit.constant(1)));
                      emit.set(probe, emit.add(emit.get(probe), emit.get(step)));
                      emit.set(step, ir.CreateShl(emit.get(step), 1));
                    });
                  });
  return lower_bound(emit, storage, level, {emit.get(low), emit.minimum(emit.get(probe), range.end)}, coordinate);
}

llvm::Value* run_end(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position,
                     llvm::Value* end) {
  llvm::Value* coordinate = coordinate_at(emit, storage, level, position);
  const Slot last = emit.slot(emit.add(position, emit.constant(1)));
  const Slot same = emit.slot(emit.ir().getTrue());
  emit.while_loop([&] { return emit.ir().CreateAnd(emit.get(same), below(emit, emit.get(last), end)); },
                  [&] {
                    llvm::Value* equal =
                        emit.ir().CreateICmpEQ(coordinate_at(emit, storage, level, emit.get(last)), coordinate);
                    emit.set(same, equal);
                    emit.set(last, emit.add(emit.get(last), emit.widen(equal)));
                  });
  return emit.get(last);
}

Cursor entry_at(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* position,
                llvm::Value* end) {
  const std::uint32_t level = parent.bound;
  if (leaves_gaps(storage, level) && has_bits(storage.level(level).kind))
    return dense_at(emit, storage, parent, position);
  if (level + 1 == key_levels(*storage.storage)) return {level + 1, touched_at(emit, storage, position), nullptr};
  if (!is_run_level(*storage.storage, level)) return {level + 1, position, nullptr};
  return {level + 1, position, run_end(emit, storage, level, position, end)};
}

Cursor dense_at(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate) {
  const LevelCode& level = storage.levels[cursor.bound];
  if (emit.checked()) emit.check(below(emit, coordinate, level.extent), {storage.id, cursor.bound}, coordinate);
  llvm::Value* position = level.stride ? emit.add(cursor.begin, emit.mul(coordinate, level.stride))
                                       : emit.add(emit.mul(cursor.begin, level.extent), coordinate);
  return {cursor.bound + 1, position, nullptr};
}

llvm::Value* is_marked(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position) {
  llvm::Type* byte = emit.ir().getInt8Ty();
  return emit.ir().CreateICmpNE(emit.load(byte, emit.address(byte, storage.levels[level].marks, position), 1),
                                emit.ir().getInt8(0));
}

/// In a short fiber: the last entry not above, of all of them, without a loop.
void locate_among_few(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                      llvm::Value* coordinate, llvm::function_ref<void(const Cursor&)> then) {
  llvm::IRBuilder<>& ir = emit.ir();
  const LevelCode& code = storage.levels[level];
  const auto search = [&] {
    llvm::Value* low = range.begin;
    llvm::Value* last = code.constant ? nullptr : emit.sub(range.end, emit.constant(1));
    llvm::Value* stored = emit.widen(coordinate_at(emit, storage, level, low));
    for (std::uint64_t n = 1; n < code.longest; ++n) {
      llvm::Value* next = emit.add(range.begin, emit.constant(n));
      if (last) next = emit.minimum(next, last);
      llvm::Value* further = emit.widen(coordinate_at(emit, storage, level, next));
      llvm::Value* not_above = ir.CreateICmpULE(further, coordinate);
      low = ir.CreateSelect(not_above, next, low);
      stored = ir.CreateSelect(not_above, further, stored);
    }
    emit.if_then(ir.CreateICmpEQ(stored, coordinate), [&] { then({level + 1, low, nullptr}); });
  };
  if (code.constant)
    search();
  else
    emit.if_then(below(emit, range.begin, range.end), search);
}

void locate_sparse(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate,
                   const Slot* finger, llvm::Value* finger_end, llvm::function_ref<void(const Cursor&)> then) {
  const std::uint32_t level = cursor.bound;
  const LevelKind kind = storage.level(level).kind;
  if (leaves_gaps(storage, level)) {
    if (has_slots(kind)) {
      locate_slot(emit, storage, cursor, coordinate, then);
      return;
    }
    llvm::IRBuilder<>& ir = emit.ir();
    llvm::Value* word = word_of_bits(emit, storage, cursor, coordinate);
    llvm::Value* bit = ir.CreateLShr(word, ir.CreateAnd(coordinate, emit.constant(63)));
    emit.if_then(ir.CreateTrunc(bit, ir.getInt1Ty()), [&] { then(dense_at(emit, storage, cursor, coordinate)); });
    return;
  }
  if (is_listed(kind) || has_bits(kind)) {
    const Cursor below_mark = dense_at(emit, storage, cursor, coordinate);
    if (!storage.levels[level].marks)
      then(below_mark);  // the key goes on
    else
      emit.if_then(is_marked(emit, storage, level, below_mark.begin), [&] { then(below_mark); });
    return;
  }
  Range range{nullptr, finger_end};
  if (finger)
    range.begin = emit.get(*finger);
  else
    range = positions_below(emit, storage, cursor);
  if (const auto wanted = baked_number(storage, coordinate); wanted && !finger && is_baked(storage, range)) {
    const std::vector<std::uint64_t>& crd = storage.baked->crd[level];
    for (std::uint64_t position = *baked_number(storage, range.begin); position < *baked_number(storage, range.end); ++position)
      if (crd[position] == *wanted) then({level + 1, emit.constant(position), nullptr});
    return;
  }
  const bool runs = is_run_level(*storage.storage, level);
  const bool table = storage.levels[level].full && !runs && is_compressed(storage.level(level).kind);
  if (table) {
    llvm::Value* first = finger ? positions_below(emit, storage, cursor).begin : range.begin;
    then({level + 1, emit.add(first, coordinate), nullptr});
    return;
  }
  if (!finger && !runs && storage.levels[level].longest > 0) {
    locate_among_few(emit, storage, level, range, coordinate, then);
    return;
  }
  if (!finger && !runs) {
    // Coordinates are unique: bisect for the last one not above, so that a fiber of one entry costs one comparison.
    emit.if_then(below(emit, range.begin, range.end), [&] {
      llvm::IRBuilder<>& ir = emit.ir();
      const Slot low = emit.slot(range.begin);
      const Slot count = emit.slot(emit.sub(range.end, range.begin));
      emit.while_loop([&] { return ir.CreateICmpUGT(emit.get(count), emit.constant(1)); },
                      [&] {
                        llvm::Value* half = ir.CreateLShr(emit.get(count), 1);
                        llvm::Value* middle = emit.add(emit.get(low), half);
                        llvm::Value* stored = emit.widen(coordinate_at(emit, storage, level, middle));
                        emit.set(low, ir.CreateSelect(ir.CreateICmpULE(stored, coordinate), middle, emit.get(low)));
                        emit.set(count, emit.sub(emit.get(count), half));
                      });
      llvm::Value* found = emit.widen(coordinate_at(emit, storage, level, emit.get(low)));
      emit.if_then(ir.CreateICmpEQ(found, coordinate), [&] { then({level + 1, emit.get(low), nullptr}); });
    });
    return;
  }
  llvm::Value* position =
      finger ? gallop(emit, storage, level, range, coordinate) : lower_bound(emit, storage, level, range, coordinate);
  if (finger) emit.set(*finger, position);
  emit.if_then(below(emit, position, range.end), [&] {
    llvm::Value* found = emit.widen(coordinate_at(emit, storage, level, position));
    emit.if_then(emit.ir().CreateICmpEQ(found, coordinate),
                 [&] { then(entry_at(emit, storage, cursor, position, range.end)); });
  });
}

llvm::Value* value_address(Emitter& emit, const StorageCode& storage, llvm::Value* position) {
  if (emit.checked() && !storage.levels.empty()) {
    const auto last = static_cast<std::uint32_t>(storage.levels.size() - 1);
    if (llvm::Value* positions = storage.levels[last].positions)
      emit.check(below(emit, position, positions), {storage.id, last}, position);
  }
  return emit.address(storage.type, storage.values, position);
}

}  // namespace weft
