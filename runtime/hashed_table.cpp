// Hashed workspaces. Kernels call these functions by the names that runtime/abi.h gives them.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/gaps.h"
#include "runtime/hashed_memory.h"
#include "runtime/sort_keys.h"

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

/// Multiplication by odd constants (Knuth, "The Art of Computer Programming" 6.4).
std::uint64_t hash(const std::uint64_t* key, std::uint64_t modes) {
  std::uint64_t mixed = 0;
  for (std::uint64_t mode = 0; mode < modes; ++mode) {
    mixed = (mixed ^ key[mode]) * golden_ratio;
    mixed ^= mixed >> 32;
  }
  return mixed;
}

std::uint64_t tag_of_key(const HashedTable& table, const std::uint64_t* key) {
  if (table.packed == 0) return hash(key, table.modes);
  std::uint64_t tag = key[0];
  for (std::uint64_t mode = 1; mode < table.modes; ++mode) tag = tag << table.bits[mode] | key[mode];
  return tag;
}

/// Words of a key in `keys`: of tuples that may be appended, its tag alone.
std::uint64_t key_words(const HashedTable& table) { return table.deferrable != 0 ? 1 : table.modes; }

std::uint64_t tag_of_entry(const HashedTable& table, std::uint64_t entry) {
  return table.deferrable != 0 ? table.keys[entry] : tag_of_key(table, table.keys + entry * table.modes);
}

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

/// Room for the keys and values of another entry.
bool make_room(HashedTable& table) {
  if (table.size >= most_entries) {
    table.status = static_cast<std::int32_t>(KernelStatus::limit);
    return false;
  }
  if (table.size == table.capacity) {
    const std::uint64_t more = std::max(first_slots / 2, 2 * table.capacity);
    if (!resize(table, table.keys, HashedTable::keys_array, more * key_words(table) * sizeof(std::uint64_t)) ||
        !resize(table, table.values, HashedTable::values_array, more * table.block_bytes))
      return false;
    table.capacity = more;
    set_limit(table);
  }
  return true;
}

bool is_cancelled(const HashedTable& table) { return table.cancelled != nullptr && *table.cancelled != 0; }

/// Orders records of `words` words by the bits of one of them from `first_bit` on; `to` has room for them. False: cancelled.
template <unsigned bits>
bool sort_by_digits_of(const HashedTable& table, std::uint64_t*& from, std::uint64_t*& to, std::uint64_t words, std::uint64_t word,
                       unsigned first_bit) {
  constexpr std::uint64_t buckets = 1u << bits;
  std::uint64_t varying = 0;
  for (std::uint64_t n = 1; n < table.size; ++n) varying |= from[n * words + word] ^ from[word];
  for (unsigned shift = first_bit; shift < 64 && (varying >> shift) != 0; shift += bits) {
    if ((varying >> shift) % buckets == 0) continue;
    if (is_cancelled(table)) return false;
    std::uint64_t starts[buckets] = {};
    for (std::uint64_t n = 0; n < table.size; ++n) ++starts[(from[n * words + word] >> shift) % buckets];
    std::uint64_t start = 0;
    for (std::uint64_t& bucket : starts) start += std::exchange(bucket, start);
    for (std::uint64_t n = 0; n < table.size; ++n) {
      const std::uint64_t place = starts[(from[n * words + word] >> shift) % buckets]++;
      for (std::uint64_t each = 0; each < words; ++each) to[place * words + each] = from[n * words + each];
    }
    std::swap(from, to);
  }
  return true;
}

bool sort_by_digits(const HashedTable& table, std::uint64_t*& from, std::uint64_t*& to, std::uint64_t words, std::uint64_t word,
                    unsigned first_bit = 0) {
  constexpr std::uint64_t many = 4096;
  return table.size < many ? sort_by_digits_of<8>(table, from, to, words, word, first_bit)
                           : sort_by_digits_of<11>(table, from, to, words, word, first_bit);
}

/// Of a packed key.
unsigned bits_of(const HashedTable& table) {
  unsigned bits = 0;
  for (std::uint64_t mode = 0; mode < table.modes; ++mode) bits += table.bits[mode];
  return bits;
}

/// The tags of all entries in order, equal ones by entry: a number of both where they fit into one, else pairs.
struct Ordered {
  const std::uint64_t* numbers = nullptr;  ///< null: `status` says why
  std::uint64_t* free = nullptr;           ///< room for as many
  unsigned entry_bits = 0;                 ///< of a number; 0: pairs

  std::uint64_t tag(std::uint64_t n) const { return entry_bits != 0 ? numbers[n] >> entry_bits : numbers[2 * n]; }
  std::uint64_t entry(std::uint64_t n) const {
    return entry_bits != 0 ? numbers[n] & ((std::uint64_t{1} << entry_bits) - 1) : numbers[2 * n + 1];
  }
};

/// Lies behind the records of `sorted`.
Ordered ordered(HashedTable& table) {
  const std::uint64_t record = table.modes + 1;
  if (const std::uint64_t words = table.size * (record + 4); words > table.sorted_room) {
    if (!resize(table, table.sorted, HashedTable::sorted_array, words * sizeof(std::uint64_t))) return {};
    table.sorted_room = words;
  }
  const auto entry_bits = static_cast<unsigned>(std::bit_width(table.size));
  const bool joined = table.size > 0 && bits_of(table) + entry_bits <= 64;
  std::uint64_t* from = table.sorted + table.size * record;
  std::uint64_t* to = from + 2 * table.size;
  if (!joined) {
    for (std::uint64_t entry = 0; entry < table.size; ++entry) {
      from[2 * entry] = tag_of_entry(table, entry);
      from[2 * entry + 1] = entry;
    }
    if (sort_by_digits(table, from, to, 2, 0)) return {from, to, 0};
    table.status = static_cast<std::int32_t>(KernelStatus::cancelled);
    return {};
  }
  for (std::uint64_t entry = 0; entry < table.size; ++entry) from[entry] = tag_of_entry(table, entry) << entry_bits | entry;
  constexpr std::uint64_t few = 32;
  if (table.size <= longest_wide_sort && has_wide_sort()) {
    wide_sort(from, table.size);
  } else if (table.size <= few) {
    std::sort(from, from + table.size);
  } else if (!sort_by_digits(table, from, to, 1, 0, entry_bits)) {
    table.status = static_cast<std::int32_t>(KernelStatus::cancelled);
    return {};
  }
  return {from, to, entry_bits};
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
  const Ordered order = ordered(table);
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
    const std::uint64_t tag = tag_of_entry(table, entry);
    table.slots[slot_of(table, tag, table.keys + entry * key_words(table))] = {tag, entry + 1};
  }
}

bool make_slots(HashedTable& table, std::uint64_t count) {
  if (!resize(table, table.slots, HashedTable::slots_array, count * sizeof(HashedTable::Slot))) return false;
  table.slot_count = count;
  std::fill_n(table.slots, count, HashedTable::Slot{});
  find_places(table);
  return true;
}

/// Appended tuples of equal keys become one. Where most were such, keys are looked up from now on.
bool consolidate(HashedTable& table) {
  const Ordered order = ordered(table);
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
  if (!resize(table, table.sorted, HashedTable::sorted_array, 2 * table.size * record * sizeof(std::uint64_t))) return table.status;
  std::uint64_t* from = table.sorted;
  std::uint64_t* to = table.sorted + table.size * record;
  for (std::uint64_t n = 0; n < table.size; ++n) {
    std::copy_n(table.keys + n * table.modes, table.modes, from + n * record);
    from[n * record + table.modes] = n;
  }
  table.listed = table.size;
  for (std::uint64_t mode = table.modes; mode-- > 0;)
    if (!sort_by_digits(table, from, to, record, mode)) return static_cast<std::int32_t>(KernelStatus::cancelled);
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
  const std::uint64_t tag = tag_of_key(*table, key);
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
  const std::uint64_t* key = table->keys + table->size * key_words(*table);
  table->slots[slot_of(*table, tag_of_entry(*table, table->size), key)] = {};
}

std::uint64_t weft_hashed_find(const HashedTable* table, const std::uint64_t* key) {
  if (table->slot_count == 0) return no_entry;
  const std::uint64_t found = table->slots[slot_of(*table, tag_of_key(*table, key), key)].entry;
  return found == 0 ? no_entry : found - 1;
}

std::int32_t weft_hashed_sort(HashedTable* table) {
  if (is_cancelled(*table)) return static_cast<std::int32_t>(KernelStatus::cancelled);
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

namespace {

/// What is appended to: the levels of a key, from its first mode on.
struct Target {
  AppendedOutput& output;
  AppendedLevel* levels;
  std::uint64_t first;  ///< level of the key's first mode
  std::uint64_t wide;   ///< bit n: level n has coordinates of 64 bits
  bool counts;          ///< entries alone
  GrowFunction* grow;
};

/// Keys that are one number each, in order, each once, with their values.
template <class T>
struct PackedKeys {
  const HashedTable& table;
  const std::uint64_t* tags;
  const T* values;

  /// The first mode in which a key differs from the one before it.
  std::uint64_t differs(std::uint64_t n) const { return table.mode_of_bit[63 - std::countl_zero(tags[n] ^ tags[n - 1])]; }
  std::uint64_t coordinate(std::uint64_t n, std::uint64_t mode) const { return tags[n] >> table.below[mode] & table.masks[mode]; }
  T value(std::uint64_t n) const { return values[n]; }
};

/// Keys of a word for each mode, in order, each once.
template <class T>
struct LongKeys {
  const HashedTable& table;

  const std::uint64_t* key(std::uint64_t n) const { return table.sorted + n * (table.modes + 1); }
  std::uint64_t differs(std::uint64_t n) const {
    std::uint64_t mode = 0;
    while (mode + 1 < table.modes && key(n)[mode] == key(n - 1)[mode]) ++mode;
    return mode;
  }
  std::uint64_t coordinate(std::uint64_t n, std::uint64_t mode) const { return key(n)[mode]; }
  T value(std::uint64_t n) const { return reinterpret_cast<const T*>(table.values)[key(n)[table.modes]]; }
};

using Sizes = std::array<std::uint64_t, HashedTable::most_appended_modes>;

/// Room for so many entries more on every level. KernelStatus.
std::int32_t make_room(const HashedTable& table, const Target& target, const Sizes& more) {
  for (std::uint64_t mode = 0; mode < table.modes; ++mode) {
    const AppendedLevel& level = target.levels[mode];
    const std::uint64_t entries = level.size + more[mode];
    const std::uint64_t parents = mode == 0 ? level.closed : target.levels[mode - 1].size + more[mode - 1];
    const bool last = mode + 1 == table.modes;
    const std::uint64_t room = last ? std::min(level.crd_capacity, target.output.values_capacity) : level.crd_capacity;
    if (entries <= room && parents <= level.pos_capacity) continue;
    if (const std::int32_t status = target.grow(&target.output, target.first + mode, parents, entries); status != 0) return status;
  }
  return 0;
}

bool has_room(const HashedTable& table, const Target& target, std::uint64_t more) {
  for (std::uint64_t mode = 0; mode < table.modes; ++mode) {
    const AppendedLevel& level = target.levels[mode];
    if (level.size + more > level.crd_capacity || (mode > 0 && target.levels[mode - 1].size + more > level.pos_capacity)) return false;
  }
  return target.levels[table.modes - 1].size + more <= target.output.values_capacity;
}

/// A key makes an entry on every level from the first mode on in which it differs from the key before. Every key writes to its entries on
/// all levels, those made before it too, with the ends of the fibers below them: which of them it makes is as good as drawn by lot, so
/// that a branch would cost more.
/// `Modes`: as many, known while compiling; 0: any number.
template <std::size_t Modes, bool Wide, class T, class Keys>
void write_entries(const HashedTable& table, const Keys& keys, std::uint64_t count, const Target& target, const Sizes& before) {
  constexpr std::size_t most = Modes == 0 ? HashedTable::most_appended_modes : Modes;
  const std::uint64_t modes = Modes == 0 ? table.modes : Modes;
  std::array<void*, most> crd;
  std::array<std::uint64_t*, most> pos;
  std::array<std::uint64_t, most> made;
  for (std::uint64_t mode = 0; mode < modes; ++mode) {
    crd[mode] = target.levels[mode].crd;
    pos[mode] = target.levels[mode].pos;
    made[mode] = before[mode];
  }
  T* values = reinterpret_cast<T*>(target.output.values);
  for (std::uint64_t n = 0; n < count; ++n) {
    const std::uint64_t differs = n == 0 ? 0 : keys.differs(n);
    std::uint64_t below = 0;
    for (std::uint64_t mode = modes; mode-- > 0;) {
      made[mode] += differs <= mode ? 1 : 0;
      if (mode + 1 < modes) pos[mode + 1][made[mode]] = below;
      below = made[mode];
      const std::uint64_t coordinate = keys.coordinate(n, mode);
      if (Wide && (target.wide >> (target.first + mode) & 1) != 0)
        static_cast<std::uint64_t*>(crd[mode])[below - 1] = coordinate;
      else
        static_cast<std::uint32_t*>(crd[mode])[below - 1] = static_cast<std::uint32_t>(coordinate);
    }
    values[made[modes - 1] - 1] = keys.value(n);
  }
  for (std::uint64_t mode = 0; mode < modes; ++mode) {
    target.levels[mode].size = made[mode];
    if (mode > 0) target.levels[mode].closed = made[mode - 1];
  }
}

template <class T, class Keys>
void write_entries(const HashedTable& table, const Keys& keys, std::uint64_t count, const Target& target, const Sizes& before) {
  if (target.wide != 0) return write_entries<0, true, T>(table, keys, count, target, before);
  switch (table.modes) {
    case 1: return write_entries<1, false, T>(table, keys, count, target, before);
    case 2: return write_entries<2, false, T>(table, keys, count, target, before);
    case 3: return write_entries<3, false, T>(table, keys, count, target, before);
    case 4: return write_entries<4, false, T>(table, keys, count, target, before);
    case 5: return write_entries<5, false, T>(table, keys, count, target, before);
    default: return write_entries<0, false, T>(table, keys, count, target, before);
  }
}

template <class T, class Keys>
std::int32_t append_keys(const HashedTable& table, const Keys& keys, std::uint64_t count, const Target& target) {
  Sizes before;
  for (std::uint64_t mode = 0; mode < table.modes; ++mode) before[mode] = target.levels[mode].size;
  if (target.counts || !has_room(table, target, count)) {
    Sizes more;
    std::fill_n(more.begin(), table.modes, 0);
    more[0] = 1;
    for (std::uint64_t n = 1; n < count; ++n) ++more[keys.differs(n)];
    for (std::uint64_t mode = 1; mode < table.modes; ++mode) more[mode] += more[mode - 1];
    if (target.counts) {
      for (std::uint64_t mode = 0; mode < table.modes; ++mode) target.levels[mode].size += more[mode];
      return 0;
    }
    if (const std::int32_t status = make_room(table, target, more); status != 0) return status;
  }
  write_entries<T>(table, keys, count, target, before);
  return 0;
}

template <class T>
std::int32_t append_all(HashedTable& table, const Target& target) {
  if (table.deferrable == 0) {
    if (const std::int32_t status = weft_hashed_sort(&table); status != 0) return status;
    return append_keys<T>(table, LongKeys<T>{table}, table.listed, target);
  }
  const Ordered order = ordered(table);
  if (order.numbers == nullptr) return table.status;
  // Equal keys are summed in the order in which they came, before what ordered() made. No branch here either.
  std::uint64_t* tags = table.sorted;
  T* sums = reinterpret_cast<T*>(table.sorted + table.size);
  std::uint64_t count = 0;
  std::uint64_t before = ~order.tag(0);
  T sum = 0;
  for (std::uint64_t n = 0; n < table.size; ++n) {
    const std::uint64_t tag = order.tag(n);
    const T value = target.counts ? T{0} : reinterpret_cast<const T*>(table.values)[order.entry(n)];
    const bool fresh = tag != before;
    before = tag;
    count += fresh ? 1 : 0;
    sum = fresh ? value : sum + value;
    tags[count - 1] = tag;
    sums[count - 1] = sum;
  }
  return append_keys<T>(table, PackedKeys<T>{table, tags, sums}, count, target);
}

}  // namespace

std::int32_t weft_hashed_append(HashedTable* table, AppendedOutput* output, std::uint64_t first, std::uint64_t wide,
                                std::uint64_t counts, GrowFunction* grow) {
  if (is_cancelled(*table)) return static_cast<std::int32_t>(KernelStatus::cancelled);
  if (table->size == 0) return 0;
  const Target target{*output, output->levels + first, first, wide, counts != 0, grow};
  return table->block_bytes == sizeof(double) ? append_all<double>(*table, target) : append_all<float>(*table, target);
}

namespace {

/// The pairs of taken slots, behind each other in `sorted`; how many.
template <class T>
std::uint64_t list_slots(const HashedTable& list, const T* crd, std::uint64_t begin, std::uint64_t end, std::uint64_t first,
                         std::uint64_t last) {
  constexpr T empty = std::numeric_limits<T>::max();
  std::uint64_t count = 0;
  // A branch for each slot would be guessed wrong half of the time: what is not taken is written over.
  for (std::uint64_t slot = begin; slot < end; ++slot) {
    list.sorted[2 * count] = crd[slot];
    list.sorted[2 * count + 1] = slot;
    count += crd[slot] != empty && crd[slot] >= first && crd[slot] < last ? 1 : 0;
  }
  return count;
}

}  // namespace

std::int32_t weft_sort_slots(HashedTable* list, const void* crd, std::uint64_t crd_bits, std::uint64_t begin,
                             std::uint64_t end, std::uint64_t first, std::uint64_t last) {
  constexpr std::uint64_t few_entries = 32;
  list->listed = 0;
  if (begin == end) return 0;
  // At most two thirds of the slots are taken, but for a fiber of one entry; sorting takes as much room again.
  if (!resize(*list, list->sorted, HashedTable::sorted_array, 4 * (end - begin) * sizeof(std::uint64_t))) return list->status;
  const std::uint64_t count = crd_bits == 64
                                  ? list_slots(*list, static_cast<const std::uint64_t*>(crd), begin, end, first, last)
                                  : list_slots(*list, static_cast<const std::uint32_t*>(crd), begin, end, first, last);
  list->listed = count;
  if (count <= few_entries) {
    for (std::uint64_t n = 1; n < count; ++n) {
      const std::uint64_t coordinate = list->sorted[2 * n];
      const std::uint64_t slot = list->sorted[2 * n + 1];
      std::uint64_t place = n;
      for (; place > 0 && list->sorted[2 * place - 2] > coordinate; --place) {
        list->sorted[2 * place] = list->sorted[2 * place - 2];
        list->sorted[2 * place + 1] = list->sorted[2 * place - 1];
      }
      list->sorted[2 * place] = coordinate;
      list->sorted[2 * place + 1] = slot;
    }
    return 0;
  }
  std::uint64_t* from = list->sorted;
  std::uint64_t* to = list->sorted + 2 * count;
  list->size = count;  // what is sorted; the table has no entries of its own
  const bool sorted = sort_by_digits(*list, from, to, 2, 0);
  list->size = 0;
  if (!sorted) return static_cast<std::int32_t>(KernelStatus::cancelled);
  if (from != list->sorted) std::copy_n(from, 2 * count, list->sorted);
  return 0;
}

}  // namespace weft
