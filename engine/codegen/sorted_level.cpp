#include "engine/codegen/sorted_level.h"

#include <vector>

#include "engine/codegen/codegen.h"
#include "engine/codegen/structure.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// A choice without a branch: whether the middle of what is left lies above is as likely as not, so that a branch goes wrong in every
/// other step, and nothing behind it is begun before.
llvm::Value* chosen(Emitter& emit, llvm::Value* condition, llvm::Value* one, llvm::Value* other) {
  llvm::Value* value = emit.ir().CreateSelect(condition, one, other);
  if (auto* select = llvm::dyn_cast<llvm::SelectInst>(value))
    select->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(select->getContext(), {}));
  return value;
}

}  // namespace

llvm::Value* lower_bound(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                         llvm::Value* coordinate) {
  const Slot low = emit.slot(range.begin);
  const Slot count = emit.slot(emit.sub(range.end, range.begin));
  llvm::IRBuilder<>& ir = emit.ir();
  emit.while_loop([&] { return ir.CreateICmpNE(emit.get(count), emit.constant(0)); },
                  [&] {
                    llvm::Value* half = ir.CreateLShr(emit.get(count), 1);
                    llvm::Value* middle = emit.add(emit.get(low), half);
                    llvm::Value* stored = emit.widen(coordinate_at(emit, storage, level, middle));
                    llvm::Value* smaller =
                        storage.storage->falls(level) ? ir.CreateICmpUGE(stored, coordinate) : below(emit, stored, coordinate);
                    llvm::Value* behind = emit.add(middle, emit.constant(1));
                    llvm::Value* rest = emit.sub(emit.sub(emit.get(count), half), emit.constant(1));
                    emit.set(low, chosen(emit, smaller, behind, emit.get(low)));
                    emit.set(count, chosen(emit, smaller, rest, half));
                  });
  return emit.get(low);
}

llvm::Value* lower_bound_called(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                                llvm::Value* coordinate) {
  // Checks return the status, and the runtime searches where coordinates rise.
  if (emit.checked() || storage.storage->falls(level)) return lower_bound(emit, storage, level, range, coordinate);
  return emit.call(storage.level(level).crd_bits == 32 ? "weft_lower_bound_32" : "weft_lower_bound_64", emit.word(),
                   {storage.levels[level].crd, range.begin, range.end, coordinate});
}

namespace {

constexpr std::uint64_t vectors_compared = 8;  // one after the other, before the rest is bisected

/// Several coordinates side by side, compared with one.
class ComparedCoordinates {
 public:
  ComparedCoordinates(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* end, llvm::Value* coordinate)
      : emit_(emit), storage_(storage), level_(level), end_(end) {
    llvm::IRBuilder<>& ir = emit.ir();
    const unsigned bits = storage.level(level).crd_bits;
    lanes_ = lanes_of(emit, storage, level);
    type_ = ir.getIntNTy(bits);
    for (unsigned lane = 0; lane < lanes_; ++lane) numbers_.push_back(llvm::ConstantInt::get(type_, lane));
    wanted_ = ir.CreateVectorSplat(lanes_, coordinate);
  }

  static bool serves(const Emitter& emit, const StorageCode& storage) {
    return emit.vector_bits() >= 256 && !emit.checked() && !storage.table;
  }
  static unsigned lanes_of(const Emitter& emit, const StorageCode& storage, std::uint32_t level) {
    return emit.vector_bits() / storage.level(level).crd_bits;
  }

  /// Bit n: whether the coordinate at place + n is the wanted one, or not above it; those from the end on are not.
  llvm::Value* equal(llvm::Value* place) const { return compared(place, llvm::CmpInst::ICMP_EQ); }
  llvm::Value* not_above(llvm::Value* place) const { return compared(place, llvm::CmpInst::ICMP_ULE); }

 private:
  llvm::Value* compared(llvm::Value* place, llvm::CmpInst::Predicate how) const {
    llvm::IRBuilder<>& ir = emit_.ir();
    llvm::Value* left = ir.CreateTrunc(emit_.minimum(emit_.sub(end_, place), emit_.constant(lanes_)), type_);
    llvm::Value* there = ir.CreateICmpULT(llvm::ConstantVector::get(numbers_), ir.CreateVectorSplat(lanes_, left));
    llvm::Value* address = emit_.address(type_, storage_.levels[level_].crd, place);
    const llvm::Align aligned(storage_.level(level_).crd_bits / 8);
    llvm::Value* read = ir.CreateMaskedLoad(wanted_->getType(), address, aligned, there, llvm::Constant::getNullValue(wanted_->getType()));
    return ir.CreateBitCast(ir.CreateAnd(there, ir.CreateICmp(how, read, wanted_)), ir.getIntNTy(lanes_));
  }

  Emitter& emit_;
  const StorageCode& storage_;
  std::uint32_t level_;
  llvm::Value* end_;
  unsigned lanes_ = 0;
  llvm::Type* type_ = nullptr;
  std::vector<llvm::Constant*> numbers_;
  llvm::Value* wanted_ = nullptr;
};

/// A vector of coordinates at a time: how many of its first ones are equal is a count of bits. Compared one by one, entries of
/// short runs each ask for a branch that the processor cannot foresee. Whether there is a second entry is asked first: the run after
/// one without it waits for a count of bits, 5 ns, but not for a branch that is foreseen. MTTKRP over 3.7 million runs of 1.3 entries,
/// R = 16, took 38 ms by vectors alone, and takes 23. The end of a run of more vectors is searched for: a million entries in 60 runs,
/// gone over 60 times, took 53 ms by vectors alone and 13 with searches.
llvm::Value* run_end_by_vectors(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position,
                                llvm::Value* end) {
  llvm::IRBuilder<>& ir = emit.ir();
  const unsigned lanes = ComparedCoordinates::lanes_of(emit, storage, level);
  llvm::Value* coordinate = coordinate_at(emit, storage, level, position);
  const ComparedCoordinates compared(emit, storage, level, end, coordinate);
  const Slot last = emit.slot(emit.add(position, emit.constant(1)));
  const auto is_second = [&] { return ir.CreateICmpEQ(coordinate_at(emit, storage, level, emit.get(last)), coordinate); };
  emit.if_any({{[&] { return below(emit, emit.get(last), end); }, is_second}}, [&] {
    llvm::Value* far = emit.add(position, emit.constant(vectors_compared * lanes));
    const auto is_whole = [&] {
      llvm::Value* place = emit.get(last);
      // One bit more: where all lanes are equal, their number.
      llvm::Value* differ = ir.CreateNot(compared.equal(place));
      llvm::Value* ends = ir.CreateOr(emit.widen(differ), emit.constant(std::uint64_t{1} << lanes));
      llvm::Value* equal = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, ends, ir.getTrue());
      emit.set(last, emit.add(place, equal));
      return ir.CreateICmpEQ(equal, emit.constant(lanes));
    };
    emit.while_loop(is_whole, [&] {
      emit.if_rarely(ir.CreateICmpUGE(emit.get(last), far), [&] {
        const Range rest{emit.get(last), end};
        emit.set(last, lower_bound_called(emit, storage, level, rest, emit.add(emit.widen(coordinate), emit.constant(1))));
      });
    });
  });
  return emit.get(last);
}

}  // namespace

llvm::Value* run_end(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position,
                     llvm::Value* end) {
  if (ComparedCoordinates::serves(emit, storage)) return run_end_by_vectors(emit, storage, level, position, end);
  llvm::Value* coordinate = coordinate_at(emit, storage, level, position);
  const Slot last = emit.slot(emit.add(position, emit.constant(1)));
  emit.while_all({[&] { return below(emit, emit.get(last), end); },
                  [&] { return emit.ir().CreateICmpEQ(coordinate_at(emit, storage, level, emit.get(last)), coordinate); }},
                 [&] { emit.set(last, emit.add(emit.get(last), emit.constant(1))); });
  return emit.get(last);
}

Cursor sorted_entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* position, llvm::Value* end) {
  const std::uint32_t level = parent.bound;
  if (!is_run_level(*storage.storage, level)) return {level + 1, position, nullptr};
  return {level + 1, position, run_end(emit, storage, level, position, end)};
}

namespace {

/// By doubling steps from range.begin, then by bisection.
llvm::Value* gallop(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                    llvm::Value* coordinate) {
  const Slot low = emit.slot(range.begin);
  const Slot probe = emit.slot(range.begin);
  const Slot step = emit.slot(emit.constant(1));
  emit.while_all(
      {[&] { return below(emit, emit.get(probe), range.end); },
       [&] { return below(emit, emit.widen(coordinate_at(emit, storage, level, emit.get(probe))), coordinate); }},
      [&] {
        emit.set(low, emit.add(emit.get(probe), emit.constant(1)));
        emit.set(probe, emit.add(emit.get(probe), emit.get(step)));
        emit.set(step, emit.ir().CreateShl(emit.get(step), 1));
      });
  return lower_bound(emit, storage, level, {emit.get(low), emit.minimum(emit.get(probe), range.end)}, coordinate);
}

/// Bit n: whether a coordinate is the one at block + n, in a vector of them.
llvm::Value* found_among(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* end, llvm::Value* block,
                         llvm::Value* coordinate) {
  llvm::IRBuilder<>& ir = emit.ir();
  const unsigned bits = storage.level(level).crd_bits;
  const ComparedCoordinates compared(emit, storage, level, end, ir.CreateZExtOrTrunc(coordinate, ir.getIntNTy(bits)));
  llvm::Value* found = emit.widen(compared.equal(block));
  if (bits == 64) return found;
  // A sum of indices may be out of range, and equal to a coordinate in the bits that are stored.
  llvm::Value* in_range = ir.CreateICmpULE(coordinate, emit.constant((std::uint64_t{1} << bits) - 1));
  return ir.CreateSelect(in_range, found, emit.constant(0));
}

llvm::Value* first_found(Emitter& emit, llvm::Value* block, llvm::Value* found) {
  return emit.add(block, emit.ir().CreateBinaryIntrinsic(llvm::Intrinsic::cttz, found, emit.ir().getTrue()));
}

/// The entry with a coordinate among those of one vector from a place on.
void take_among(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* end, llvm::Value* block,
                llvm::Value* coordinate, LevelKindCode::Found then) {
  llvm::Value* found = found_among(emit, storage, cursor.bound, end, block, coordinate);
  emit.if_then(emit.ir().CreateICmpNE(found, emit.constant(0)),
               [&] { then(sorted_entry(emit, storage, cursor, first_found(emit, block, found), end)); });
}

/// A vector of coordinates at a time from the finger on: the block that ends at or above the wanted one is found by a branch that goes
/// wrong once in a block, not once for each coordinate, and the entry in it by a comparison with all. More than a few blocks away
/// the rest is bisected. Of two matrices with ten entries in each of 20,000 rows: 10 ns a coordinate by doubling steps, 2.9 so.
/// The entry behind the finger, which stays at what was found, is looked at first: where patterns are alike it is the wanted one, which a
/// branch foresees, and what follows waits for no comparison.
void gallop_by_vectors(Emitter& emit, const StorageCode& storage, const Cursor& cursor, const Range& range, llvm::Value* coordinate,
                       const Slot& finger, LevelKindCode::Found then) {
  const std::uint32_t level = cursor.bound;
  llvm::IRBuilder<>& ir = emit.ir();
  const unsigned lanes = ComparedCoordinates::lanes_of(emit, storage, level);
  const auto stored = [&](llvm::Value* place) { return emit.widen(coordinate_at(emit, storage, level, place)); };
  const auto advance = [&] {
    llvm::Value* far = emit.add(range.begin, emit.constant(vectors_compared * lanes));
    llvm::Value* last = nullptr;
    emit.while_all({[&] {
                      last = emit.add(emit.get(finger), emit.constant(lanes - 1));
                      return below(emit, last, range.end);
                    },
                    [&] { return below(emit, stored(last), coordinate); }},
                   [&] {
                     emit.set(finger, emit.add(emit.get(finger), emit.constant(lanes)));
                     emit.if_rarely(ir.CreateICmpUGE(emit.get(finger), far), [&] {
                       emit.set(finger, lower_bound_called(emit, storage, level, {emit.get(finger), range.end}, coordinate));
                     });
                   });
  };
  const Slot position = emit.slot(emit.add(range.begin, emit.constant(1)));
  const auto is_there = [&] { return below(emit, emit.get(position), range.end); };
  const auto is_next = [&] { return ir.CreateICmpEQ(stored(emit.get(position)), coordinate); };
  const auto is_found = [&] {
    advance();
    llvm::Value* found = found_among(emit, storage, level, range.end, emit.get(finger), coordinate);
    emit.set(position, first_found(emit, emit.get(finger), found));
    return ir.CreateICmpNE(found, emit.constant(0));
  };
  const auto take = [&] {
    emit.set(finger, emit.get(position));
    then(sorted_entry(emit, storage, cursor, emit.get(position), range.end));
  };
  // Of a run the entry behind the finger may be any but the first.
  if (is_run_level(*storage.storage, level)) emit.if_any({{is_found}}, take);
  else emit.if_any({{is_there, is_next}, {is_found}}, take);
}

/// Whether a search for a coordinate goes on behind an entry: it is not above, or, where coordinates fall, not below.
llvm::Value* goes_on(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* stored, llvm::Value* coordinate) {
  return storage.storage->falls(level) ? emit.ir().CreateICmpUGE(stored, coordinate) : emit.ir().CreateICmpULE(stored, coordinate);
}

/// In a short fiber: the last entry not above, of all of them, without a loop; not below where coordinates fall.
void locate_among_few(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range,
                      llvm::Value* coordinate, LevelKindCode::Found then) {
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
      llvm::Value* on = goes_on(emit, storage, level, further, coordinate);
      low = chosen(emit, on, next, low);
      stored = chosen(emit, on, further, stored);
    }
    emit.if_then(ir.CreateICmpEQ(stored, coordinate), [&] { then({level + 1, low, nullptr}); });
  };
  if (code.constant)
    search();
  else
    emit.if_then(below(emit, range.begin, range.end), search);
}

/// Halves of a fiber until so many are left, among which is the last entry that is not above, if there is one; not below where coordinates
/// fall.
llvm::Value* last_not_above(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range, llvm::Value* coordinate,
                            std::uint64_t left) {
  llvm::IRBuilder<>& ir = emit.ir();
  const Slot low = emit.slot(range.begin);
  const Slot count = emit.slot(emit.sub(range.end, range.begin));
  emit.while_loop([&] { return ir.CreateICmpUGT(emit.get(count), emit.constant(left)); },
                  [&] {
                    llvm::Value* half = ir.CreateLShr(emit.get(count), 1);
                    llvm::Value* middle = emit.add(emit.get(low), half);
                    llvm::Value* stored = emit.widen(coordinate_at(emit, storage, level, middle));
                    emit.set(low, chosen(emit, goes_on(emit, storage, level, stored, coordinate), middle, emit.get(low)));
                    emit.set(count, emit.sub(emit.get(count), half));
                  });
  return emit.get(low);
}

/// Coordinates are unique: bisects for the last one not above, so that a fiber of one entry costs one comparison; or for a vector of
/// them, compared with all at once.
void locate_unique(Emitter& emit, const StorageCode& storage, const Cursor& cursor, const Range& range, llvm::Value* coordinate,
                   LevelKindCode::Found then) {
  const std::uint32_t level = cursor.bound;
  if (ComparedCoordinates::serves(emit, storage)) {
    const unsigned lanes = ComparedCoordinates::lanes_of(emit, storage, level);
    llvm::Value* block = last_not_above(emit, storage, level, range, coordinate, lanes);
    take_among(emit, storage, cursor, range.end, block, coordinate, then);
    return;
  }
  emit.if_then(below(emit, range.begin, range.end), [&] {
    llvm::Value* low = last_not_above(emit, storage, level, range, coordinate, 1);
    llvm::Value* found = emit.widen(coordinate_at(emit, storage, level, low));
    emit.if_then(emit.ir().CreateICmpEQ(found, coordinate), [&] { then({level + 1, low, nullptr}); });
  });
}

/// Coordinates fall and those that are looked for rise: the finger stands behind the last entry that may still match, at first behind the
/// fiber, which begins at `begin`, and goes down by vectors.
void gallop_downwards(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* begin, llvm::Value* coordinate,
                      const Slot& finger, LevelKindCode::Found then) {
  const std::uint32_t level = cursor.bound;
  llvm::IRBuilder<>& ir = emit.ir();
  const bool by_vectors = ComparedCoordinates::serves(emit, storage);
  const unsigned lanes = by_vectors ? ComparedCoordinates::lanes_of(emit, storage, level) : 1;
  const Slot steps = emit.slot(emit.constant(vectors_compared));
  const auto greatest = [&] {
    return emit.widen(coordinate_at(emit, storage, level, emit.sub(emit.get(finger), emit.constant(lanes))));
  };
  // All that would be passed are below where the first of them, the greatest, is.
  emit.while_all({[&] { return ir.CreateICmpUGE(emit.sub(emit.get(finger), begin), emit.constant(lanes)); },
                  [&] { return below(emit, greatest(), coordinate); }},
                 [&] {
                   emit.set(finger, emit.sub(emit.get(finger), emit.constant(lanes)));
                   emit.set(steps, emit.sub(emit.get(steps), emit.constant(1)));
                   // Further away: behind the last entry that is not below, if there is one.
                   emit.if_rarely(ir.CreateICmpEQ(emit.get(steps), emit.constant(0)), [&] {
                     llvm::Value* last = last_not_above(emit, storage, level, {begin, emit.get(finger)}, coordinate, 1);
                     emit.set(finger, emit.add(last, emit.constant(1)));
                   });
                 });
  llvm::Value* behind = emit.get(finger);
  if (by_vectors) {
    llvm::Value* block = emit.sub(behind, emit.minimum(emit.sub(behind, begin), emit.constant(lanes)));
    take_among(emit, storage, cursor, behind, block, coordinate, then);
    return;
  }
  emit.if_then(below(emit, begin, behind), [&] {
    llvm::Value* position = emit.sub(behind, emit.constant(1));
    llvm::Value* found = emit.widen(coordinate_at(emit, storage, level, position));
    emit.if_then(ir.CreateICmpEQ(found, coordinate), [&] { then({level + 1, position, nullptr}); });
  });
}

/// In a fiber whose coordinates come in no order: one after the other is looked at, or a vector of them, until one is equal. Short fibers
/// without a loop, and so without a branch that is not foreseen.
void locate_by_scan(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, LevelKindCode::Found then) {
  const std::uint32_t level = cursor.bound;
  llvm::IRBuilder<>& ir = emit.ir();
  const Range range = positions_below(emit, storage, cursor);
  const LevelCode& code = storage.levels[level];
  if (code.longest > 0) {
    llvm::Value* position = range.end;  // none
    const auto look = [&] {
      llvm::Value* last = code.constant ? nullptr : emit.sub(range.end, emit.constant(1));
      for (std::uint64_t n = 0; n < code.longest; ++n) {
        llvm::Value* next = emit.add(range.begin, emit.constant(n));
        if (last) next = emit.minimum(next, last);
        llvm::Value* equal = ir.CreateICmpEQ(emit.widen(coordinate_at(emit, storage, level, next)), coordinate);
        position = chosen(emit, equal, next, position);
      }
      emit.if_then(below(emit, position, range.end), [&] { then({level + 1, position, nullptr}); });
    };
    if (code.constant)
      look();
    else
      emit.if_then(below(emit, range.begin, range.end), look);
    return;
  }
  const Slot place = emit.slot(range.begin);
  if (!ComparedCoordinates::serves(emit, storage)) {
    emit.while_all({[&] { return below(emit, emit.get(place), range.end); },
                    [&] { return ir.CreateICmpNE(emit.widen(coordinate_at(emit, storage, level, emit.get(place))), coordinate); }},
                   [&] { emit.set(place, emit.add(emit.get(place), emit.constant(1))); });
    emit.if_then(below(emit, emit.get(place), range.end), [&] { then({level + 1, emit.get(place), nullptr}); });
    return;
  }
  const unsigned bits = storage.level(level).crd_bits;
  const unsigned lanes = ComparedCoordinates::lanes_of(emit, storage, level);
  const ComparedCoordinates compared(emit, storage, level, range.end, ir.CreateZExtOrTrunc(coordinate, ir.getIntNTy(bits)));
  const Slot found = emit.slot(emit.constant(0));
  // A sum of indices may be out of range, and equal to a coordinate in the bits that are stored.
  llvm::Value* end = range.end;
  if (bits < 64)
    end = ir.CreateSelect(ir.CreateICmpULE(coordinate, emit.constant((std::uint64_t{1} << bits) - 1)), range.end, range.begin);
  emit.while_all({[&] { return below(emit, emit.get(place), end); },
                  [&] {
                    emit.set(found, emit.widen(compared.equal(emit.get(place))));
                    return ir.CreateICmpEQ(emit.get(found), emit.constant(0));
                  }},
                 [&] { emit.set(place, emit.add(emit.get(place), emit.constant(lanes))); });
  emit.if_then(ir.CreateICmpNE(emit.get(found), emit.constant(0)), [&] {
    llvm::Value* lane = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, emit.get(found), ir.getTrue());
    then({level + 1, emit.add(emit.get(place), lane), nullptr});
  });
}

/// In a fiber whose coordinates follow each other: at its distance from the first one, if that is within.
void locate_adjacent(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate,
                     LevelKindCode::Found then) {
  const std::uint32_t level = cursor.bound;
  const Range range = positions_below(emit, storage, cursor);
  llvm::Value* length = emit.sub(range.end, range.begin);
  const auto at = [&](llvm::Value* distance) {
    emit.if_then(below(emit, distance, length), [&] { then({level + 1, emit.add(range.begin, distance), nullptr}); });
  };
  if (storage.levels[level].from_zero) {
    at(coordinate);
    return;
  }
  emit.if_then(below(emit, range.begin, range.end),
               [&] { at(emit.sub(coordinate, emit.widen(coordinate_at(emit, storage, level, range.begin)))); });
}

}  // namespace

void locate_sorted(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, const FingerCode* finger,
                   LevelKindCode::Found then) {
  const std::uint32_t level = cursor.bound;
  if (storage.storage->is_unordered(level)) {
    locate_by_scan(emit, storage, cursor, coordinate, then);
    return;
  }
  if (finger && storage.storage->falls(level)) {
    gallop_downwards(emit, storage, cursor, finger->end, coordinate, finger->place, then);
    return;
  }
  const Range range = finger ? Range{emit.get(finger->place), finger->end} : positions_below(emit, storage, cursor);
  if (const auto wanted = baked_number(storage, coordinate); wanted && !finger && is_baked(storage, range)) {
    const std::vector<std::uint64_t>& crd = storage.baked->crd[level];
    for (std::uint64_t position = *baked_number(storage, range.begin); position < *baked_number(storage, range.end); ++position)
      if (crd[position] == *wanted) then({level + 1, emit.constant(position), nullptr});
    return;
  }
  if (storage.levels[level].adjacent) {
    locate_adjacent(emit, storage, cursor, coordinate, then);
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
    locate_unique(emit, storage, cursor, range, coordinate, then);
    return;
  }
  if (finger && ComparedCoordinates::serves(emit, storage)) {
    gallop_by_vectors(emit, storage, cursor, range, coordinate, finger->place, then);
    return;
  }
  llvm::Value* position =
      finger ? gallop(emit, storage, level, range, coordinate) : lower_bound(emit, storage, level, range, coordinate);
  if (finger) emit.set(finger->place, position);
  emit.if_then(below(emit, position, range.end), [&] {
    llvm::Value* found = emit.widen(coordinate_at(emit, storage, level, position));
    emit.if_then(emit.ir().CreateICmpEQ(found, coordinate),
                 [&] { then(sorted_entry(emit, storage, cursor, position, range.end)); });
  });
}

namespace {

/// Moves a place on while the vectors of coordinates from it on end at or below the wanted one, which rises; what is far away is bisected.
void follow(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* end, llvm::Value* wanted, const Slot& place,
            unsigned lanes) {
  llvm::IRBuilder<>& ir = emit.ir();
  llvm::Value* far = emit.add(emit.get(place), emit.constant(vectors_compared * lanes));
  llvm::Value* next = nullptr;
  emit.while_all({[&] {
                    next = emit.add(emit.get(place), emit.constant(lanes));
                    return below(emit, next, end);
                  },
                  [&] { return ir.CreateICmpULE(emit.widen(coordinate_at(emit, storage, level, next)), wanted); }},
                 [&] {
                   emit.set(place, next);
                   emit.if_rarely(ir.CreateICmpUGE(next, far), [&] {
                     llvm::Value* above = emit.add(wanted, emit.constant(1));
                     llvm::Value* behind = lower_bound_called(emit, storage, level, {emit.get(place), end}, above);
                     emit.set(place, emit.sub(behind, emit.constant(1)));
                   });
                 });
}

}  // namespace

namespace {

/// Starts come in no order: of all that are not above the greatest.
void take_greatest(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range, llvm::Value* wanted,
                   llvm::function_ref<void(const Cursor&, llvm::Value*)> then) {
  llvm::IRBuilder<>& ir = emit.ir();
  const Slot place = emit.slot(range.begin);
  const Slot greatest = emit.slot(range.end);
  const Slot behind = emit.slot(emit.constant(0));  // its coordinate and 1; 0: there is none
  emit.while_loop([&] { return below(emit, emit.get(place), range.end); },
                  [&] {
                    llvm::Value* stored = emit.widen(coordinate_at(emit, storage, level, emit.get(place)));
                    llvm::Value* not_above = ir.CreateICmpULE(stored, wanted);
                    llvm::Value* better = ir.CreateAnd(not_above, ir.CreateICmpUGE(stored, emit.get(behind)));
                    emit.set(greatest, chosen(emit, better, emit.get(place), emit.get(greatest)));
                    emit.set(behind, chosen(emit, better, emit.add(stored, emit.constant(1)), emit.get(behind)));
                    emit.set(place, emit.add(emit.get(place), emit.constant(1)));
                  });
  emit.if_then(ir.CreateICmpNE(emit.get(behind), emit.constant(0)),
               [&] { then({level + 1, emit.get(greatest), nullptr}, emit.sub(emit.get(behind), emit.constant(1))); });
}

}  // namespace

// The place found is the last one not above: a vector of coordinates from a place on, the first of which is not above or the fiber's
// first, has as many of them as are not above, since they rise. A finger stays where its vector begins: what is found in that is nothing
// the next lookup waits for. SDDMM-like sums over nsjac in blocks of 4 that begin anywhere: 3.2 ms with the finger at what was found.
void locate_start(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* wanted, const FingerCode* finger,
                  llvm::function_ref<void(const Cursor&, llvm::Value*)> then) {
  const std::uint32_t level = cursor.bound;
  llvm::IRBuilder<>& ir = emit.ir();
  const auto take = [&](llvm::Value* position) {
    llvm::Value* found = emit.widen(coordinate_at(emit, storage, level, position));
    emit.if_then(ir.CreateICmpULE(found, wanted), [&] { then({level + 1, position, nullptr}, found); });
  };
  if (is_per_parent(storage.level(level).kind)) {
    take(cursor.begin);
    return;
  }
  const Range range = finger ? Range{emit.get(finger->place), finger->end} : positions_below(emit, storage, cursor);
  if (storage.storage->falls(level)) {
    llvm::Value* first = lower_bound(emit, storage, level, range, emit.add(wanted, emit.constant(1)));
    emit.if_then(below(emit, first, range.end), [&] { take(first); });
    return;
  }
  if (storage.storage->is_unordered(level)) {
    take_greatest(emit, storage, level, range, wanted, then);
    return;
  }
  if (!ComparedCoordinates::serves(emit, storage)) {
    emit.if_then(below(emit, range.begin, range.end), [&] {
      llvm::Value* low = range.begin;
      if (finger) {
        llvm::Value* behind = gallop(emit, storage, level, range, emit.add(wanted, emit.constant(1)));
        low = ir.CreateSelect(below(emit, range.begin, behind), emit.sub(behind, emit.constant(1)), range.begin);
        emit.set(finger->place, low);
      } else {
        low = last_not_above(emit, storage, level, range, wanted, 1);
      }
      take(low);
    });
    return;
  }
  const unsigned bits = storage.level(level).crd_bits;
  const unsigned lanes = ComparedCoordinates::lanes_of(emit, storage, level);
  llvm::Value* block = nullptr;
  if (finger) {
    follow(emit, storage, level, range.end, wanted, finger->place, lanes);
    block = emit.get(finger->place);
  } else {
    block = last_not_above(emit, storage, level, range, wanted, lanes);
  }
  // A sum may be beyond all that the stored bits hold.
  llvm::Value* most = bits == 64 ? wanted : emit.minimum(wanted, emit.constant((std::uint64_t{1} << bits) - 1));
  const ComparedCoordinates compared(emit, storage, level, range.end, ir.CreateZExtOrTrunc(most, ir.getIntNTy(bits)));
  llvm::Value* not_above = emit.widen(compared.not_above(block));
  emit.if_then(ir.CreateICmpNE(not_above, emit.constant(0)), [&] {
    llvm::Value* count = ir.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, not_above);
    llvm::Value* position = emit.sub(emit.add(block, count), emit.constant(1));
    then({level + 1, position, nullptr}, emit.widen(coordinate_at(emit, storage, level, position)));
  });
}

}  // namespace weft
