// Hashed workspaces. Kernels call these functions by the names that runtime/abi.h gives them.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/hashed_memory.h"

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
    self.refused_ = reserved.error();
    return nullptr;
  }
  return buffer.data();
}

namespace {

constexpr std::uint64_t first_slots = 64;
constexpr std::uint64_t most_entries = UINT32_MAX - 1;
/// Emptier tables than this are cleaned entry by entry.
constexpr std::uint64_t slots_per_entry = 16;

/// Multiplication by odd constants (Knuth, "The Art of Computer Programming" 6.4), the high bits folded into the low ones
/// that choose the slot.
std::uint64_t hash(const std::uint64_t* key, std::uint64_t modes) {
  std::uint64_t mixed = 0;
  for (std::uint64_t mode = 0; mode < modes; ++mode) {
    mixed = (mixed ^ key[mode]) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 32;
  }
  return mixed;
}

bool equal(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t modes) {
  for (std::uint64_t mode = 0; mode < modes; ++mode)
    if (a[mode] != b[mode]) return false;
  return true;
}

/// Of the entry, or the free one where it belongs.
std::uint64_t slot_of(const HashedTable& table, const std::uint64_t* key) {
  const std::uint64_t mask = table.slot_count - 1;
  std::uint64_t slot = hash(key, table.modes) & mask;
  while (table.slots[slot] != 0 &&
         !equal(table.keys + (table.slots[slot] - 1) * table.modes, key, table.modes))
    slot = (slot + 1) & mask;
  return slot;
}

template <class T>
bool resize(HashedTable& table, T*& array, HashedTable::Array number, std::uint64_t bytes) {
  void* moved = table.allocate(&table, number, std::max<std::uint64_t>(bytes, 1));
  if (moved == nullptr) {
    table.status = static_cast<std::int32_t>(KernelStatus::limit);
    return false;
  }
  array = static_cast<T*>(moved);
  return true;
}

bool grow(HashedTable& table) {
  if (table.size >= most_entries) {
    table.status = static_cast<std::int32_t>(KernelStatus::limit);
    return false;
  }
  if (table.size == table.capacity) {
    const std::uint64_t more = std::max(first_slots / 2, 2 * table.capacity);
    if (!resize(table, table.keys, HashedTable::keys_array, more * table.modes * sizeof(std::uint64_t)) ||
        !resize(table, table.values, HashedTable::values_array, more * table.block_bytes))
      return false;
    table.capacity = more;
  }
  if (2 * (table.size + 1) > table.slot_count) {
    const std::uint64_t more = std::max(first_slots, 2 * table.slot_count);
    if (!resize(table, table.slots, HashedTable::slots_array, more * sizeof(std::uint32_t))) return false;
    table.slot_count = more;
    std::fill_n(table.slots, more, 0u);
    for (std::uint64_t entry = 0; entry < table.size; ++entry)
      table.slots[slot_of(table, table.keys + entry * table.modes)] = static_cast<std::uint32_t>(entry + 1);
  }
  return true;
}

bool less(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t modes) {
  return std::lexicographical_compare(a, a + modes, b, b + modes);
}

/// Least significant digit of the last mode first; moves whole records of key and entry between the halves of `sorted`.
void sort_by_digits(HashedTable& table) {
  constexpr unsigned bits = 8;
  constexpr std::uint64_t buckets = 1u << bits;
  const std::uint64_t record = table.modes + 1;
  std::uint64_t* from = table.sorted;
  std::uint64_t* to = table.sorted + table.size * record;
  for (std::uint64_t mode = table.modes; mode-- > 0;) {
    std::uint64_t all = 0;
    for (std::uint64_t n = 0; n < table.size; ++n) all |= from[n * record + mode];
    for (unsigned shift = 0; shift < 64 && (all >> shift) != 0; shift += bits) {
      std::uint64_t starts[buckets] = {};
      for (std::uint64_t n = 0; n < table.size; ++n) ++starts[(from[n * record + mode] >> shift) % buckets];
      std::uint64_t start = 0;
      for (std::uint64_t& bucket : starts) start += std::exchange(bucket, start);
      for (std::uint64_t n = 0; n < table.size; ++n) {
        const std::uint64_t place = starts[(from[n * record + mode] >> shift) % buckets]++;
        std::copy_n(from + n * record, record, to + place * record);
      }
      std::swap(from, to);
    }
  }
  if (from != table.sorted) std::copy_n(from, table.size * record, table.sorted);
}

}  // namespace

void weft_hashed_open(HashedTable* table, std::uint64_t modes, std::uint64_t block_bytes) {
  table->modes = modes;
  table->block_bytes = block_bytes;
  table->status = 0;
  // Arrays made for entries of another shape hold fewer of these; they are as long as they are.
  table->capacity = 0;
  table->size = 0;
  std::fill_n(table->slots, table->slot_count, 0u);
}

std::uint64_t weft_hashed_insert(HashedTable* table, const std::uint64_t* key) {
  std::uint64_t slot = 0;
  if (table->slot_count != 0) {
    slot = slot_of(*table, key);
    if (table->slots[slot] != 0) return table->slots[slot] - 1;
  }
  if (table->size == table->capacity || 2 * (table->size + 1) > table->slot_count) {
    if (!grow(*table)) return no_entry;
    slot = slot_of(*table, key);
  }
  const std::uint64_t entry = table->size++;
  std::copy_n(key, table->modes, table->keys + entry * table->modes);
  std::memset(table->values + entry * table->block_bytes, 0, table->block_bytes);
  table->slots[slot] = static_cast<std::uint32_t>(entry + 1);
  return entry;
}

void weft_hashed_remove_last(HashedTable* table) {
  --table->size;
  // Nothing was put behind it: no other key's search passes its slot.
  table->slots[slot_of(*table, table->keys + table->size * table->modes)] = 0;
}

std::uint64_t weft_hashed_find(const HashedTable* table, const std::uint64_t* key) {
  if (table->slot_count == 0) return no_entry;
  const std::uint32_t found = table->slots[slot_of(*table, key)];
  return found == 0 ? no_entry : found - 1;
}

std::int32_t weft_hashed_sort(HashedTable* table) {
  constexpr std::uint64_t few_entries = 96;
  const std::uint64_t record = table->modes + 1;
  const std::uint64_t halves = table->size > few_entries ? 2 : 1;
  if (!resize(*table, table->sorted, HashedTable::sorted_array, halves * table->size * record * sizeof(std::uint64_t)))
    return table->status;
  if (halves == 1) {
    std::uint64_t order[few_entries];
    for (std::uint64_t n = 0; n < table->size; ++n) order[n] = n;
    std::sort(order, order + table->size, [&](std::uint64_t a, std::uint64_t b) {
      return less(table->keys + a * table->modes, table->keys + b * table->modes, table->modes);
    });
    for (std::uint64_t n = 0; n < table->size; ++n) {
      std::copy_n(table->keys + order[n] * table->modes, table->modes, table->sorted + n * record);
      table->sorted[n * record + table->modes] = order[n];
    }
    return 0;
  }
  for (std::uint64_t n = 0; n < table->size; ++n) {
    std::copy_n(table->keys + n * table->modes, table->modes, table->sorted + n * record);
    table->sorted[n * record + table->modes] = n;
  }
  sort_by_digits(*table);
  return 0;
}

void weft_hashed_clear(HashedTable* table) {
  if (table->size > table->slot_count / slots_per_entry) {
    std::fill_n(table->slots, table->slot_count, 0u);
    table->size = 0;
  }
  // The last one first: as when it was made, its search ends at its slot.
  while (table->size > 0) weft_hashed_remove_last(table);
}

}  // namespace weft
