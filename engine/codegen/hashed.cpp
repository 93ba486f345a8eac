// Hashed levels. Of an input: a table of slots per fiber (runtime/gaps.h), probed from the coordinate's product with the golden ratio
// on; the range that drives is one of slots. Of a workspace: what the runtime's functions do for its table, and where its entries lie;
// what drives is the list of its keys.
#include <cstddef>

#include "engine/codegen/generate.h"
#include "engine/codegen/long_sum.h"
#include "engine/codegen/sorted_level.h"
#include "runtime/abi.h"
#include "runtime/gaps.h"
#include "runtime/level_traits.h"

namespace weft {

namespace {

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

/// The kernel's range of the root loop is in coordinates, which have no order in a table: it takes the same share of the
/// slots. Quotients of doubles never decrease, and slots are a power of two: chunks that meet share no slot.
Range slots_of_chunk(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range, llvm::Value* begin,
                     llvm::Value* end) {
  llvm::IRBuilder<>& ir = emit.ir();
  llvm::Type* real = ir.getDoubleTy();
  llvm::Value* slots = ir.CreateUIToFP(emit.sub(range.end, range.begin), real);
  llvm::Value* extent = ir.CreateUIToFP(storage.levels[level].extent, real);
  const auto slot = [&](llvm::Value* coordinate) {
    llvm::Value* inside = emit.minimum(coordinate, storage.levels[level].extent);
    llvm::Value* share = ir.CreateFDiv(ir.CreateUIToFP(inside, real), extent);
    return emit.add(range.begin, ir.CreateFPToUI(ir.CreateFMul(share, slots), emit.word()));
  };
  return {slot(begin), slot(end)};
}

/// The number of the entry whose key stands at a place of a workspace's list: behind its words where the list is sorted.
llvm::Value* entry_of_key(Emitter& emit, const StorageCode& storage, llvm::Value* place) {
  if (!storage.sorted) return place;
  llvm::Value* record = emit.mul(place, emit.constant(key_levels(*storage.storage) + 1));
  llvm::Value* entry = emit.add(record, emit.constant(key_levels(*storage.storage)));
  return emit.load(emit.word(), emit.address(emit.word(), storage.levels[0].crd, entry), 8);
}

class HashedLevel final : public LevelKindCode {
 public:
  Range positions(Emitter& emit, const StorageCode& storage, const Cursor& cursor) const override {
    return leaves_gaps(storage, cursor.bound) ? packed_positions(emit, storage, cursor) : key_positions(emit, storage, cursor);
  }

  Cursor entry(Emitter& emit, const StorageCode& storage, const Cursor& parent, llvm::Value* place, llvm::Value* end) const override {
    const bool in_key = !leaves_gaps(storage, parent.bound) && parent.bound + 1 < key_levels(*storage.storage);
    if (in_key) return sorted_entry(emit, storage, parent, place, end);
    return {parent.bound + 1, storage.table ? entry_of_key(emit, storage, place) : place, nullptr};
  }

  /// Of a workspace: a record per key, of a word per mode, and its number where the keys are sorted.
  llvm::Value* coordinate(Emitter& emit, const StorageCode& storage, std::uint32_t level, llvm::Value* place) const override {
    if (!storage.table) return LevelKindCode::coordinate(emit, storage, level, place);
    if (emit.checked()) emit.check(below(emit, place, storage.levels[level].positions), {storage.id, level}, place);
    const std::uint64_t record = key_levels(*storage.storage) + (storage.sorted ? 1 : 0);
    return stored_number(emit, storage, level, 64, emit.add(emit.mul(place, emit.constant(record)), emit.constant(level)));
  }

  Range chunk(Emitter& emit, const StorageCode& storage, std::uint32_t level, const Range& range, llvm::Value* begin,
              llvm::Value* end) const override {
    return slots_of_chunk(emit, storage, level, range, begin, end);
  }

  llvm::Value* next(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* place, llvm::Value* end) const override {
    return first_place(emit, place, end, [&](llvm::Value* here, Slot at) {
      llvm::Value* found = is_taken(emit, slot_at(emit, storage, cursor.bound, here));
      emit.set(at, emit.ir().CreateSelect(found, here, emit.add(here, emit.constant(1))));
      return found;
    });
  }

  llvm::Value* taken(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* block, llvm::Value* end,
                     unsigned places) const override {
    llvm::IRBuilder<>& ir = emit.ir();
    const std::uint32_t level = cursor.bound;
    const unsigned bits = storage.level(level).crd_bits;
    llvm::Type* type = ir.getIntNTy(bits);
    std::vector<llvm::Constant*> numbers;
    for (unsigned number = 0; number < places; ++number) numbers.push_back(llvm::ConstantInt::get(type, number));
    llvm::Value* left = ir.CreateZExtOrTrunc(emit.minimum(emit.sub(end, block), emit.constant(places)), type);
    llvm::Value* there = ir.CreateICmpULT(llvm::ConstantVector::get(numbers), ir.CreateVectorSplat(places, left));
    llvm::Type* several = llvm::FixedVectorType::get(type, places);
    llvm::Constant* free = llvm::Constant::getAllOnesValue(several);
    llvm::Value* found =
        ir.CreateMaskedLoad(several, emit.address(type, storage.levels[level].crd, block), llvm::Align(bits / 8), there, free);
    return ir.CreateZExt(ir.CreateBitCast(ir.CreateICmpNE(found, free), ir.getIntNTy(places)), emit.word());
  }
  /// Masked loads make a vector of slots one look.
  unsigned block_places(const Level& level, unsigned vector_bits) const override {
    return vector_bits >= 256 ? vector_bits / level.crd_bits : 0;
  }

  void locate(Emitter& emit, const StorageCode& storage, const Cursor& cursor, llvm::Value* coordinate, const FingerCode*,
              Found then) const override {
    locate_slot(emit, storage, cursor, coordinate, then);
  }
};

}  // namespace

const LevelKindCode& hashed_level() {
  static constexpr HashedLevel kind;
  return kind;
}

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
    emit_->call("weft_hashed_open", emit_->ir().getVoidTy(),
                {storage.table, emit_->constant(key), block, extents, emit_->constant(scalars)});
    if (!gathers || key > HashedTable::most_packed_modes) continue;
    storage.size = emit_->slot(emit_->constant(0));
    storage.limit = emit_->slot(table_member(storage, offsetof(HashedTable, limit), emit_->word()));
    for (std::uint32_t mode = 0; mode < key; ++mode)
      storage.bits.push_back(emit_->widen(table_member(storage, offsetof(HashedTable, bits) + mode, emit_->ir().getInt8Ty())));
  }
}

llvm::Value* Generator::table_member(const StorageCode& storage, std::uint64_t offset, llvm::Type* type) {
  return emit_->load(type, emit_->address(emit_->ir().getInt8Ty(), storage.table, emit_->constant(offset)),
                     type->isIntegerTy(8) ? 1 : type->isIntegerTy(32) ? 4 : 8);
}

void Generator::store_table_size(const StorageCode& storage) {
  if (!storage.size.place()) return;
  llvm::Value* place = emit_->address(emit_->ir().getInt8Ty(), storage.table, emit_->constant(offsetof(HashedTable, size)));
  emit_->store(emit_->get(storage.size), place, 8);
}

void Generator::load_table_size(const StorageCode& storage) {
  if (!storage.size.place()) return;
  emit_->set(storage.size, table_member(storage, offsetof(HashedTable, size), emit_->word()));
  emit_->set(storage.limit, table_member(storage, offsetof(HashedTable, limit), emit_->word()));
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
  store_table_size(storage);
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

/// The modes bound so far side by side, the last one in the lowest bits: what tag_of_key() makes of a key that fits into 64 bits.
llvm::Value* Generator::packed_key(loop::AccessId access, llvm::Value* coordinate, const Scope& scope) {
  const StorageCode& storage = storage_of(access);
  const std::uint32_t mode = scope.cursors[access].bound;
  std::vector<llvm::Value*>& keys = packed_keys_[access];
  keys.resize(mode);
  if (mode > 0) coordinate = emit_->ir().CreateOr(emit_->ir().CreateShl(keys.back(), storage.bits[mode]), coordinate);
  keys.push_back(coordinate);
  return coordinate;
}

/// The key whose modes are all bound, a word for each.
llvm::Value* Generator::words_of_key(loop::AccessId access, const Scope& scope) {
  const std::uint32_t modes = key_levels(*storage_of(access).storage);
  llvm::Value*& words = keys_[access];
  if (!words) words = emit_->words(modes);
  for (std::uint32_t mode = 0; mode < modes; ++mode)
    emit_->store(scope.coordinates[program_.accesses[access].indices[mode]],
                 emit_->address(emit_->word(), words, emit_->constant(mode)), 8);
  return words;
}

/// The entry of a key by the runtime.
llvm::Value* Generator::insert_called(StorageCode& storage, llvm::Value* key) {
  store_table_size(storage);
  llvm::Value* entry = emit_->call("weft_hashed_insert", emit_->word(), {storage.table, key});
  emit_->if_rarely(emit_->ir().CreateICmpEQ(entry, emit_->constant(no_entry)), [&] {
    emit_->return_unless_done(table_member(storage, offsetof(HashedTable, status), emit_->ir().getInt32Ty()));
  });
  load_table_size(storage);
  return entry;
}

/// The last mode of a key, of a table that is only read in order. While tuples are appended that is two stores: of the key, as one
/// number, and of the value. The runtime is called where there is no room, where it is time to sum equal keys, and for every tuple where
/// keys are looked up.
void Generator::append_tuple(loop::AccessId access, llvm::Value* coordinate, const Scope& scope, Then then) {
  StorageCode& storage = storages_[program_.accesses[access].storage];
  llvm::IRBuilder<>& ir = emit_->ir();
  const std::uint32_t key_modes = key_levels(*storage.storage);
  const bool scalar = key_modes == storage.levels.size();
  const unsigned bytes = scalar_bytes(storage.storage->scalar);
  llvm::Value* key = packed_key(access, coordinate, scope);
  llvm::Value* size = emit_->get(storage.size);
  const Slot entry = emit_->slot(size);
  const bool sums = scalar && !options_.symbolic;
  const Slot sum = sums ? emit_->slot(llvm::ConstantFP::get(storage.type, 0.0)) : Slot{};
  emit_->if_usually(
      ir.CreateICmpULT(size, emit_->get(storage.limit)),
      [&] {
        llvm::Value* keys = table_member(storage, offsetof(HashedTable, keys), ir.getPtrTy());
        emit_->store(key, emit_->address(emit_->word(), keys, size), 8);
        if (!scalar && !options_.symbolic) {
          find_values(storage);
          llvm::Value* elements = block_elements(storage, key_modes);
          ir.CreateMemSet(emit_->address(storage.type, storage.values, emit_->mul(size, elements)), ir.getInt8(0),
                          emit_->mul(elements, emit_->constant(bytes)), llvm::Align(bytes));
        }
        emit_->set(storage.size, emit_->add(size, emit_->constant(1)));
      },
      [&] {
        emit_->set(entry, insert_called(storage, words_of_key(access, scope)));
        if (!sums) return;
        find_values(storage);
        emit_->set(sum, emit_->load(storage.type, value_address(*emit_, storage, emit_->get(entry)), bytes));
      });
  Scope inner = scope;
  inner.cursors[access] = {key_modes, emit_->get(entry), nullptr};
  if (!sums) {
    if (!options_.symbolic) find_values(storage);
    then(inner);
    return;
  }
  inner.held[storage.id] = {sum};
  LongSum long_sum(*this, storage, inner.held[storage.id]);
  then(inner);
  long_sum.end();
  find_values(storage);
  emit_->store(emit_->get(sum), value_address(*emit_, storage, emit_->get(entry)), bytes);
}

void Generator::insert_hashed(loop::AccessId access, llvm::Value* coordinate, bool certain, const Scope& scope,
                              Then then) {
  StorageCode& storage = storages_[program_.accesses[access].storage];
  const bool last = scope.cursors[access].bound + 1 == key_levels(*storage.storage);
  const bool appends = storage.size.place() && !emit_->checked();
  if (appends && last && certain) {
    append_tuple(access, coordinate, scope, then);
    return;
  }
  llvm::IRBuilder<>& ir = emit_->ir();
  llvm::Value* key = nullptr;
  if (!appends)
    key = key_so_far(access, coordinate, scope);
  else if (last)
    key = words_of_key(access, scope);
  else
    packed_key(access, coordinate, scope);
  Scope inner = scope;
  inner.cursors[access] = {scope.cursors[access].bound + 1, emit_->constant(0), nullptr};
  if (!key) {
    then(inner);
    return;
  }
  llvm::Value* entry = insert_called(storage, key);
  find_values(storage);
  llvm::Value* made = certain ? nullptr : table_member(storage, offsetof(HashedTable, made), emit_->word());
  inner.cursors[access].begin = entry;
  if (!certain) inner.flags[storage.id] = emit_->slot(ir.getFalse());
  then(inner);
  if (certain) return;
  llvm::Value* empty = ir.CreateNot(emit_->get(inner.flags[storage.id]));
  emit_->if_then(ir.CreateAnd(ir.CreateICmpNE(made, emit_->constant(0)), empty),
                 [&] {
                   store_table_size(storage);
                   emit_->call("weft_hashed_remove_last", ir.getVoidTy(), {storage.table});
                   load_table_size(storage);
                 });
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
