#include "engine/codegen/level.h"

#include <optional>
#include <utility>

#include "engine/codegen/codegen.h"
#include "engine/codegen/level_kind.h"
#include "engine/codegen/sorted_level.h"
#include "engine/codegen/structure.h"
#include "runtime/level_traits.h"

namespace weft {

const LevelKindCode& code_of(LevelKind kind) {
  switch (kind) {
    case LevelKind::dense: return dense_level();
    case LevelKind::compressed: return compressed_level();
    case LevelKind::compressed_nonunique: return nonunique_level();
    case LevelKind::singleton: return singleton_level();
    case LevelKind::hashed: return hashed_level();
    case LevelKind::bitmap: return bitmap_level();
    case LevelKind::accumulator: return accumulator_level();
    case LevelKind::variable: break;  // of layouts, which kernels do not know
  }
  std::unreachable();
}

namespace {

const LevelKindCode& next_kind(const StorageCode& storage, const Cursor& cursor) { return code_of(storage.level(cursor.bound).kind); }

llvm::Value* load_pos(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* index) {
  if (const auto number = baked_number(storage, index)) return emit.constant(storage.baked->pos[level].at(*number));
  llvm::Type* type = emit.ir().getIntNTy(storage.level(level).pos_bits);
  llvm::Value* place = emit.address(type, storage.levels[level].pos, index);
  return emit.widen(emit.load(type, place, storage.level(level).pos_bits / 8));
}

/// Where the value of a position stands.
llvm::Value* placed_element(Emitter& emit, const StorageCode& storage, llvm::Value* position) {
  const unsigned bits = storage.storage->place_bits;
  llvm::Type* type = emit.ir().getIntNTy(bits);
  llvm::Value* place = emit.load(type, emit.address(type, storage.places, position), bits / 8);
  return emit.sub(emit.widen(place), emit.constant(1));
}

}  // namespace

// What is asked of any level.

Range positions_below(Emitter& emit, const StorageCode& storage, const Cursor& cursor) {
  return next_kind(storage, cursor).positions(emit, storage, cursor);
}

Cursor entry_at(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* position, llvm::Value* end) {
  return next_kind(storage, parent).entry(emit, storage, parent, position, end);
}

llvm::Value* coordinate_at(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position) {
  return code_of(storage.level(level).kind).coordinate(emit, storage, level, position);
}

Range chunk_of(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range, llvm::Value* begin, llvm::Value* end) {
  return code_of(storage.level(level).kind).chunk(emit, storage, level, range, begin, end);
}

bool leaves_gaps(const StorageCode& storage, std::uint32_t level) {
  return storage.storage->role == loop::Role::input && has_gaps(storage.level(level).kind);
}

void locate_sparse(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate,
                   const FingerCode* finger, llvm::function_ref<void(const Cursor&)> then) {
  next_kind(storage, cursor).locate(emit, storage, cursor, coordinate, finger, then);
}

llvm::Value* value_element(Emitter& emit, const StorageCode& storage, llvm::Value* position) {
  return storage.places ? placed_element(emit, storage, position) : position;
}

llvm::Value* value_address(Emitter& emit, const StorageCode& storage, llvm::Value* position) {
  if (emit.checked() && !storage.levels.empty()) {
    const auto last = static_cast<std::uint32_t>(storage.levels.size() - 1);
    if (llvm::Value* positions = storage.levels[last].positions)
      emit.check(below(emit, position, positions), {storage.id, last}, position);
  }
  if (!storage.places) return emit.address(storage.type, storage.values, position);
  llvm::Value* element = placed_element(emit, storage, position);
  if (emit.checked()) {
    const auto last = static_cast<std::uint32_t>(storage.levels.size() - 1);
    emit.check(below(emit, element, storage.elements), {storage.id, last}, element);
  }
  return emit.address(storage.type, storage.values, element);
}

// MTTKRP of a million entries in no order, 16 columns, took 1.36 times as long as with values in order when they were fetched 256 ahead
// into the second cache, 1.40 times 64 ahead; by hand 1.26, and 1.4 into the first cache, which waits for fewer lines at a time, and 5
// times without.
void fetch_placed(Emitter& emit, const StorageCode& storage, llvm::Value* position) {
  constexpr std::uint64_t ahead = 256;
  if (!storage.places || emit.checked() || llvm::isa<llvm::Constant>(position)) return;
  llvm::Value* last = emit.sub(storage.levels.back().positions, emit.constant(1));
  llvm::Value* later = emit.minimum(emit.add(position, emit.constant(ahead)), last);
  constexpr unsigned second_cache = 2;
  emit.fetch(emit.address(storage.type, storage.values, placed_element(emit, storage, later)), false, second_cache);
}

// What a kind says unless it says otherwise.

llvm::Value* LevelKindCode::coordinate(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* place) const {
  return stored_number(emit, storage, level, storage.level(level).crd_bits, place);
}

Range LevelKindCode::chunk(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range, llvm::Value* begin,
                           llvm::Value* end) const {
  if (storage.storage->falls(level)) std::swap(begin, end);
  llvm::Value* first = lower_bound_called(emit, storage, level, range, begin);
  return {first, lower_bound_called(emit, storage, level, {first, range.end}, end)};
}

llvm::Value* LevelKindCode::next(Emitter&, const StorageCode&, const Cursor&, llvm::Value* place, llvm::Value*) const { return place; }

llvm::Value* LevelKindCode::taken(Emitter& emit, const StorageCode&, const Cursor&, llvm::Value*, llvm::Value*, unsigned places) const {
  return emit.constant(places == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << places) - 1);
}

unsigned LevelKindCode::block_places(const Level&, unsigned) const { return 0; }

llvm::Value* LevelKindCode::first_block(Emitter&, llvm::Value* begin) const { return begin; }

// What several kinds have in common.

llvm::Value* below(Emitter& emit, llvm::Value* a, llvm::Value* b) { return emit.ir().CreateICmpULT(a, b); }

std::optional<std::uint64_t> baked_number(const StorageCode& storage, llvm::Value* value) {
  const auto* constant = storage.baked ? llvm::dyn_cast<llvm::ConstantInt>(value) : nullptr;
  return constant ? std::optional(constant->getZExtValue()) : std::nullopt;
}

bool is_baked(const StorageCode& storage, const Range& range) {
  return baked_number(storage, range.begin) && baked_number(storage, range.end);
}

Range packed_positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor) {
  const std::uint32_t level = cursor.bound;
  if (emit.checked() && level > 0)
    emit.check(below(emit, cursor.begin, storage.levels[level - 1].positions), {storage.id, level}, cursor.begin);
  if (storage.levels[level].constant && !storage.baked) {
    llvm::Value* entries = emit.constant(storage.levels[level].longest);
    llvm::Value* first = emit.mul(cursor.begin, entries);
    return {first, cursor.end ? emit.mul(cursor.end, entries) : emit.add(first, entries)};
  }
  llvm::Value* end = cursor.end ? cursor.end : emit.add(cursor.begin, emit.constant(1));
  Range range{load_pos(emit, storage, level, cursor.begin), load_pos(emit, storage, level, end)};
  if (emit.checked()) {
    emit.check(emit.ir().CreateICmpULE(range.begin, range.end), {storage.id, level}, range.begin);
    emit.check(emit.ir().CreateICmpULE(range.end, storage.levels[level].positions), {storage.id, level}, range.end);
  }
  return range;
}

Range positions_of_run(Emitter& emit, const Cursor& cursor) {
  return {cursor.begin, cursor.end ? cursor.end : emit.add(cursor.begin, emit.constant(1))};
}

llvm::Value* stored_number(Emitter& emit, const StorageCode& storage, std::uint32_t level, unsigned bits, llvm::Value* place) {
  const LevelCode& code = storage.levels[level];
  if (const auto number = baked_number(storage, place)) return emit.ir().getIntN(bits, storage.baked->crd[level].at(*number));
  if (emit.checked() && !storage.table) emit.check(below(emit, place, code.positions), {storage.id, level}, place);
  llvm::Type* type = emit.ir().getIntNTy(bits);
  llvm::Value* coordinate = emit.load(type, emit.address(type, code.crd, place), bits / 8);
  if (emit.checked()) emit.check(below(emit, emit.widen(coordinate), code.extent), {storage.id, level}, coordinate);
  return coordinate;
}

Range key_positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor) {
  if (cursor.bound == 0) return {emit.constant(0), emit.get(storage.count)};
  return positions_of_run(emit, cursor);
}

Cursor key_entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* place, llvm::Value* end) {
  if (parent.bound + 1 == key_levels(*storage.storage)) return {parent.bound + 1, touched_at(emit, storage, place), nullptr};
  return sorted_entry(emit, storage, parent, place, end);
}

llvm::Value* touched_at(Emitter& emit, const StorageCode& storage, llvm::Value* place) {
  const unsigned bytes = touched_bytes(*storage.storage);
  llvm::Type* type = emit.ir().getIntNTy(bytes * 8);
  return emit.widen(emit.load(type, emit.address(type, storage.touched, place), bytes));
}

llvm::Value* is_marked(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* position) {
  llvm::Type* byte = emit.ir().getInt8Ty();
  return emit.ir().CreateICmpNE(emit.load(byte, emit.address(byte, storage.levels[level].marks, position), 1),
                                emit.ir().getInt8(0));
}

void locate_marked(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, LevelKindCode::Found then) {
  const Cursor found = dense_at(emit, storage, cursor, coordinate);
  if (!storage.levels[cursor.bound].marks)
    then(found);
  else
    emit.if_then(is_marked(emit, storage, cursor.bound, found.begin), [&] { then(found); });
}

llvm::Value* first_place(Emitter& emit, llvm::Value* place, llvm::Value* end, llvm::function_ref<llvm::Value*(llvm::Value*, Slot)> step) {
  const Slot at = emit.slot(place);
  emit.while_all({[&] { return below(emit, emit.get(at), end); }, [&] { return emit.ir().CreateNot(step(emit.get(at), at)); }}, [] {});
  return emit.minimum(emit.get(at), end);
}

}  // namespace weft
