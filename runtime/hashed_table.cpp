// Hashed workspaces. Kernels call these functions by the names that runtime/abi.h gives them.
#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/hashed_memory.h"
#include "runtime/hashed_order.h"

namespace weft {

HashedTable HashedMemory::table() {
  HashedTable table;
  table.allocate = &HashedMemory::allocate;
  table.owner = this;
  return table;
}

void* HashedMemory::allocate(HashedTable* table, std::uint64_t array, std::uint64_t bytes) {
  auto& self = *static_cast<HashedMemory*>(table->owner);
  GrowingBuffer& buffer = self.buffers_[array];
  if (auto reserved = buffer.reserve(bytes, self.memory_, self.name_); !reserved) {
    self.refused_ = std::move(reserved.error());
    return nullptr;
  }
  return buffer.data();
}

namespace {

constexpr std::uint64_t first_slots = 64;
constexpr std::uint64_t most_entries = UINT32_MAX - 1;
/// Emptier tables than this are cleaned entry by entry.
constexpr std::uint64_t slots_per_entry = 16;
/// Appended tuples are looked at when there are so many, and again when they have become several times as many. Measured
/// (engine/codegen/README.md): up to two tuples per key, appending and sorting is faster than looking keys up.
constexpr std::uint64_t first_threshold = 256;
constexpr std::uint64_t threshold_growth = 4;
constexpr std::uint64_t most_tuples_per_key = 2;

/// As many tuples may be there without a look at the slots and without more room.
void set_limit(HashedTable& table) { table.limit = table.deferred != 0 ? std::min(table.capacity, table.threshold) : 0; }

/// The coordinates of a tag that is a whole key.
void unpack(const HashedTable& table, std::uint64_t tag, std::uint64_t* key) {
  for (std::uint64_t mode = 0; mode < table.modes; ++mode) key[mode] = tag >> table.below[mode] & table.masks[mode];
}

bool equal(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t modes) {
  for (std::uint64_t mode = 0; mode < modes; ++mode)
    if (a[mode] != b[mode]) return false;
  return true;
}

/// Of the entry, or the free one where it belongs. The high bits of the product choose where the search begins.
std::uint64_t slot_of(const HashedTable& table, std::uint64_t tag, const std::uint64_t* key) {
  const std::uint64_t mask = table.slot_count - 1;
  std::uint64_t slot = tag * golden_ratio >> (64 - std::countr_zero(table.slot_count));
  for (;; slot = (slot + 1) & mask) {
    const HashedTable::Slot& found = table.slots[slot];
    if (found.entry == 0) return slot;
    if (found.tag == tag && (table.packed != 0 || equal(table.keys + (found.entry - 1) * table.modes, key, table.modes))) return slot;
  }
}

/// Room for the keys and values of another entry.
bool make_room(HashedTable& table) {
  if (table.size >= most_entries) {
    table.status = static_cast<std::int32_t>(KernelStatus::limit);
    return false;
  }
  if (table.size == table.capacity) {
    const std::uint64_t more = std::max(first_slots / 2, 2 * table.capacity);
    if (!hashed::resize(table, table.keys, HashedTable::keys_array, more * hashed::key_words(table) * sizeof(std::uint64_t)) ||
        !hashed::resize(table, table.values, HashedTable::values_array, more * table.block_bytes))
      return false;
    table.capacity = more;
    set_limit(table);
  }
  return true;
}

template <class T>
void move_into(T* into, T* from, std::uint64_t elements) {
  for (std::uint64_t n = 0; n < elements; ++n) {
    into[n] += from[n];
    from[n] = 0;
  }
}

/// Adds the values of one entry to those of another, which leaves it zeros.
void move_values(HashedTable& table, std::uint64_t into, std::uint64_t from) {
  unsigned char* left = table.values + into * table.block_bytes;
  unsigned char* right = table.values + from * table.block_bytes;
  if (table.deferrable == sizeof(double))
    move_into(reinterpret_cast<double*>(left), reinterpret_cast<double*>(right), table.block_bytes / sizeof(double));
  else
    move_into(reinterpret_cast<float*>(left), reinterpret_cast<float*>(right), table.block_bytes / sizeof(float));
}

/// Keys that are one number each are ordered and taken apart where they belong. Of equal ones, which are tuples that were
/// appended, the first gets the values of the others, in the order in which they came.
std::int32_t sort_packed(HashedTable& table) {
  const hashed::Ordered order = hashed::ordered(table);
  if (order.numbers == nullptr) return table.status;
  const std::uint64_t record = table.modes + 1;
  table.listed = 0;
  std::uint64_t before = 0;
  for (std::uint64_t n = 0; n < table.size; ++n) {
    const std::uint64_t tag = order.tag(n);
    const std::uint64_t entry = order.entry(n);
    if (n > 0 && tag == before) {
      move_values(table, table.sorted[(table.listed - 1) * record + table.modes], entry);
      continue;
    }
    before = tag;
    std::uint64_t* place = table.sorted + table.listed++ * record;
    unpack(table, tag, place);
    place[table.modes] = entry;
  }
  return 0;
}

void find_places(HashedTable& table) {
  for (std::uint64_t entry = 0; entry < table.size; ++entry) {
    const std::uint64_t tag = hashed::tag_of_entry(table, entry);
    table.slots[slot_of(table, tag, table.keys + entry * hashed::key_words(table))] = {tag, entry + 1};
  }
}

bool make_slots(HashedTable& table, std::uint64_t count) {
  if (!hashed::resize(table, table.slots, HashedTable::slots_array, count * sizeof(HashedTable::Slot))) return false;
  table.slot_count = count;
  std::fill_n(table.slots, count, HashedTable::Slot{});
  find_places(table);
  return true;
}

/// Appended tuples of equal keys become one. Where most were such, keys are looked up from now on.
bool consolidate(HashedTable& table) {
  const hashed::Ordered order = hashed::ordered(table);
  if (order.numbers == nullptr) return false;
  auto* dropped = reinterpret_cast<unsigned char*>(order.free);
  std::fill_n(dropped, table.size, static_cast<unsigned char>(0));
  std::uint64_t first = order.entry(0);
  for (std::uint64_t n = 1; n < table.size; ++n) {
    const std::uint64_t entry = order.entry(n);
    if (order.tag(n) != order.tag(n - 1)) {
      first = entry;
      continue;
    }
    move_values(table, first, entry);
    dropped[entry] = 1;
  }
  std::uint64_t kept = 0;
  for (std::uint64_t entry = 0; entry < table.size; ++entry) {
    if (dropped[entry] != 0) continue;
    if (kept != entry) {
      table.keys[kept] = table.keys[entry];
      std::memcpy(table.values + kept * table.block_bytes, table.values + entry * table.block_bytes, table.block_bytes);
    }
    ++kept;
  }
  const bool repeated = kept * most_tuples_per_key < table.size;
  table.size = kept;
  table.threshold = threshold_growth * std::max(kept, first_threshold);
  if (repeated) table.deferred = 0;
  set_limit(table);
  if (!repeated) return true;
  if (2 * (table.size + 1) > table.slot_count) return make_slots(table, std::max(first_slots, std::bit_ceil(2 * (table.size + 1))));
  find_places(table);
  return true;
}

/// Least significant digit of the last mode first; moves whole records of key and entry between the halves of `sorted`.
std::int32_t sort_long(HashedTable& table) {
  const std::uint64_t record = table.modes + 1;
  if (!hashed::resize(table, table.sorted, HashedTable::sorted_array, 2 * table.size * record * sizeof(std::uint64_t))) return table.status;
  std::uint64_t* from = table.sorted;
  std::uint64_t* to = table.sorted + table.size * record;
  for (std::uint64_t n = 0; n < table.size; ++n) {
    std::copy_n(table.keys + n * table.modes, table.modes, from + n * record);
    from[n * record + table.modes] = n;
  }
  table.listed = table.size;
  for (std::uint64_t mode = table.modes; mode-- > 0;)
    if (!hashed::sort_by_digits(table, from, to, record, mode)) return static_cast<std::int32_t>(KernelStatus::cancelled);
  if (from != table.sorted) std::copy_n(from, table.size * record, table.sorted);
  return 0;
}

/// Where the coordinates of a packed key stand.
void describe_bits(HashedTable& table) {
  unsigned bit = 0;
  for (std::uint64_t mode = table.modes; mode-- > 0;) {
    const unsigned bits = table.bits[mode];
    table.below[mode] = static_cast<std::uint8_t>(bits == 0 ? 0 : bit);  // no shift by 64
    table.masks[mode] = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    for (unsigned end = bit + bits; bit < end; ++bit) table.mode_of_bit[bit] = static_cast<std::uint8_t>(mode);
  }
}

}  // namespace

void weft_hashed_open(HashedTable* table, std::uint64_t modes, std::uint64_t block_bytes, const std::uint64_t* extents,
                      std::uint64_t scalar_bytes) {
  table->modes = modes;
  table->block_bytes = block_bytes;
  table->status = 0;
  std::uint64_t width = 0;
  for (std::uint64_t mode = 0; mode < modes; ++mode) {
    const auto bits = static_cast<unsigned>(extents[mode] == 0 ? 0 : std::bit_width(extents[mode] - 1));
    if (mode < HashedTable::most_packed_modes) table->bits[mode] = static_cast<std::uint8_t>(bits);
    width += bits;
  }
  table->packed = width <= 64 && modes <= HashedTable::most_packed_modes ? 1 : 0;
  // Behind a first mode of one coordinate another one may take all bits.
  for (std::uint64_t mode = 1; mode < modes && table->packed != 0; ++mode)
    if (table->bits[mode] == 64) table->packed = 0;
  if (table->packed != 0) describe_bits(*table);
  table->deferrable = table->packed != 0 ? static_cast<std::uint32_t>(scalar_bytes) : 0;
  table->deferred = table->deferrable != 0 ? 1 : 0;
  table->threshold = first_threshold;
  // Arrays made for entries of another shape hold fewer of these; they are as long as they are.
  table->capacity = 0;
  table->size = 0;
  set_limit(*table);
  std::fill_n(table->slots, table->slot_count, HashedTable::Slot{});
}

namespace {

std::uint64_t append(HashedTable& table, std::uint64_t tag, const std::uint64_t* key) {
  if (table.size == table.capacity && !make_room(table)) return no_entry;
  const std::uint64_t entry = table.size++;
  if (table.deferrable != 0)
    table.keys[entry] = tag;
  else
    std::copy_n(key, table.modes, table.keys + entry * table.modes);
  if (table.block_bytes == sizeof(double))
    std::memset(table.values + entry * sizeof(double), 0, sizeof(double));
  else
    std::memset(table.values + entry * table.block_bytes, 0, table.block_bytes);
  table.made = 1;
  return entry;
}

}  // namespace

std::uint64_t weft_hashed_insert(HashedTable* table, const std::uint64_t* key) {
  const std::uint64_t tag = hashed::tag_of_key(*table, key);
  if (table->deferred != 0) {
    if (table->size < table->threshold) return append(*table, tag, key);
    if (!consolidate(*table)) return no_entry;
    if (table->deferred != 0) return append(*table, tag, key);
  }
  std::uint64_t slot = 0;
  if (table->slot_count != 0) {
    slot = slot_of(*table, tag, key);
    if (table->slots[slot].entry != 0) {
      table->made = 0;
      return table->slots[slot].entry - 1;
    }
  }
  if (2 * (table->size + 1) > table->slot_count) {
    if (!make_slots(*table, std::max(first_slots, 2 * table->slot_count))) return no_entry;
    slot = slot_of(*table, tag, key);
  }
  const std::uint64_t entry = append(*table, tag, key);
  if (entry != no_entry) table->slots[slot] = {tag, entry + 1};
  return entry;
}

void weft_hashed_remove_last(HashedTable* table) {
  --table->size;
  if (table->deferred != 0) return;
  // Nothing was put behind it: no other key's search passes its slot.
  const std::uint64_t* key = table->keys + table->size * hashed::key_words(*table);
  table->slots[slot_of(*table, hashed::tag_of_entry(*table, table->size), key)] = {};
}

std::uint64_t weft_hashed_find(const HashedTable* table, const std::uint64_t* key) {
  if (table->slot_count == 0) return no_entry;
  const std::uint64_t found = table->slots[slot_of(*table, hashed::tag_of_key(*table, key), key)].entry;
  return found == 0 ? no_entry : found - 1;
}

std::int32_t weft_hashed_sort(HashedTable* table) {
  if (hashed::is_cancelled(*table)) return static_cast<std::int32_t>(KernelStatus::cancelled);
  return table->packed != 0 ? sort_packed(*table) : sort_long(*table);
}

void weft_hashed_clear(HashedTable* table) {
  if (table->deferred != 0) {
    table->size = 0;
  } else if (table->size > table->slot_count / slots_per_entry) {
    std::fill_n(table->slots, table->slot_count, HashedTable::Slot{});
    table->size = 0;
  }
  // The last one first: as when it was made, its search ends at its slot.
  while (table->size > 0) weft_hashed_remove_last(table);
  table->deferred = table->deferrable != 0 ? 1 : 0;
  table->threshold = first_threshold;
  set_limit(*table);
}

}  // namespace weft
