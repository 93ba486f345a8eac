// What drives a loop: ranges of positions, of coordinates, of slots, and lists of slots in order.
#include <cstddef>

#include "engine/codegen/generate.h"
#include "engine/codegen/level_kind.h"
#include "runtime/abi.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

constexpr std::uint64_t pair_words = 2;  // coordinate and slot

}  // namespace

/// `alone`: nothing is merged with it, so that constant positions are unrolled, each in its chunk.
Generator::Driver Generator::open_driver(const loop::Step& step, bool alone, const Scope& scope, bool cut) {
  StorageCode& storage = storages_[program_.accesses[step.access].storage];
  const Cursor& cursor = scope.cursors[step.access];
  const LevelKind kind = storage.level(cursor.bound).kind;
  if (cursor.bound == 0 && key_levels(*storage.storage) > 0)
    list_entries(storage.id, step.algorithm == loop::Algorithm::sort);
  Driver driver{.access = step.access, .range = positions_below(*emit_, storage, cursor), .position = {}};
  Range& range = driver.range;
  llvm::IRBuilder<>& ir = emit_->ir();
  if (const auto list = lists_.find({step.access, cursor.bound}); list != lists_.end()) {
    llvm::Value* first = cut ? begin_ : emit_->constant(0);
    llvm::Value* last = cut ? end_ : storage.levels[cursor.bound].extent;
    llvm::Value* bits = emit_->constant(storage.level(cursor.bound).crd_bits);
    emit_->return_unless_done(
        emit_->call("weft_sort_slots", ir.getInt32Ty(),
                    {list->second, storage.levels[cursor.bound].crd, bits, range.begin, range.end, first, last}));
    const auto member = [&](std::uint64_t offset, llvm::Type* type) {
      return emit_->load(type, emit_->address(ir.getInt8Ty(), list->second, emit_->constant(offset)), 8);
    };
    driver.list = member(offsetof(HashedTable, sorted), ir.getPtrTy());
    range = {emit_->constant(0), member(offsetof(HashedTable, listed), emit_->word())};
  } else if (cut && !(alone && is_baked(storage, range))) {
    range = chunk_of(*emit_, storage, cursor.bound, range, begin_, end_);
  }
  if (looks_at_blocks(driver, alone, scope)) {
    llvm::Value* first = code_of(kind).first_block(*emit_, range.begin);
    llvm::Value* passed = ir.CreateShl(emit_->constant(~std::uint64_t{0}), emit_->sub(range.begin, first));
    driver.block = emit_->slot(first);
    driver.taken = emit_->slot(emit_->constant(0));
    emit_->if_then(ir.CreateICmpULT(range.begin, range.end),
                   [&] { emit_->set(driver.taken, ir.CreateAnd(taken_in(driver, first, scope), passed)); });
    driver.position = emit_->slot(next_taken(driver, scope));
    return driver;
  }
  driver.position = emit_->slot(entry_from(driver, range.begin, scope));
  return driver;
}

llvm::Value* Generator::entry_place(const Driver& driver, llvm::Value* position) {
  return driver.mirror ? emit_->sub(driver.mirror, position) : position;
}

/// The coordinate at a place of the driver's range, in the width it is stored in.
llvm::Value* Generator::coordinate_of(const Driver& driver, llvm::Value* position, const Scope& scope) {
  if (!driver.list)
    return coordinate_at(*emit_, storage_of(driver.access), scope.cursors[driver.access].bound, entry_place(driver, position));
  llvm::Value* place = emit_->mul(position, emit_->constant(pair_words));
  return emit_->load(emit_->word(), emit_->address(emit_->word(), driver.list, place), 8);
}

Cursor Generator::entry_of(const Driver& driver, llvm::Value* position, const Scope& scope) {
  const Cursor& parent = scope.cursors[driver.access];
  if (!driver.list) return entry_at(*emit_, storage_of(driver.access), parent, entry_place(driver, position), driver.range.end);
  llvm::Value* place = emit_->add(emit_->mul(position, emit_->constant(pair_words)), emit_->constant(1));
  return {parent.bound + 1, emit_->load(emit_->word(), emit_->address(emit_->word(), driver.list, place), 8), nullptr};
}

bool Generator::skips_gaps(const Driver& driver, const Scope& scope) const {
  return !driver.list && leaves_gaps(storage_of(driver.access), scope.cursors[driver.access].bound);
}

/// The first place of the range with an entry, at or after `position`.
llvm::Value* Generator::entry_from(const Driver& driver, llvm::Value* position, const Scope& scope) {
  if (!skips_gaps(driver, scope)) return position;
  if (driver.taken.place()) {
    llvm::Value* taken = emit_->get(driver.taken);
    emit_->set(driver.taken, emit_->ir().CreateAnd(taken, emit_->sub(taken, emit_->constant(1))));
    return next_taken(driver, scope);
  }
  const StorageCode& storage = storage_of(driver.access);
  const Cursor& cursor = scope.cursors[driver.access];
  return code_of(storage.level(cursor.bound).kind).next(*emit_, storage, cursor, position, driver.range.end);
}

/// Whether the places of a level with gaps are looked at a block at a time: those of a word of a bitmap, the slots that fit into
/// a vector. A branch for each slot is guessed wrong half of the time.
bool Generator::looks_at_blocks(const Driver& driver, bool alone, const Scope& scope) const {
  return alone && !emit_->checked() && skips_gaps(driver, scope) && block_places(driver, scope) > 0;
}

unsigned Generator::block_places(const Driver& driver, const Scope& scope) const {
  const Level& level = storage_of(driver.access).level(scope.cursors[driver.access].bound);
  return code_of(level.kind).block_places(level, vector_bits_);
}

llvm::Value* Generator::taken_in(const Driver& driver, llvm::Value* block, const Scope& scope) {
  const StorageCode& storage = storage_of(driver.access);
  const Cursor& cursor = scope.cursors[driver.access];
  return code_of(storage.level(cursor.bound).kind).taken(*emit_, storage, cursor, block, driver.range.end, block_places(driver, scope));
}

/// The first place that is taken, of those left in the block or of a later one.
llvm::Value* Generator::next_taken(const Driver& driver, const Scope& scope) {
  llvm::IRBuilder<>& ir = emit_->ir();
  const auto none = [&] { return ir.CreateICmpEQ(emit_->get(driver.taken), emit_->constant(0)); };
  const auto next = [&] { return emit_->add(emit_->get(driver.block), emit_->constant(block_places(driver, scope))); };
  emit_->while_loop([&] { return ir.CreateAnd(none(), ir.CreateICmpULT(next(), driver.range.end)); },
                    [&] {
                      emit_->set(driver.block, next());
                      emit_->set(driver.taken, taken_in(driver, emit_->get(driver.block), scope));
                    });
  llvm::Value* first = ir.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, emit_->get(driver.taken), ir.getFalse());
  return ir.CreateSelect(none(), driver.range.end, emit_->add(emit_->get(driver.block), first));
}

}  // namespace weft
