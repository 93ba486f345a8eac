// Hashed workspaces drained into results that are appended to: all entries in the order of their keys.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "runtime/hashed_order.h"

namespace weft {
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
/// `Modes`: as many, known while compiling; 0: any number. False: cancelled.
template <std::size_t Modes, bool Wide, class T, class Keys>
bool write_entries(const HashedTable& table, const Keys& keys, std::uint64_t count, const Target& target, const Sizes& before) {
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
  const bool written = hashed::in_runs(table, count, [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t n = first; n < end; ++n) {
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
  });
  if (!written) return false;
  for (std::uint64_t mode = 0; mode < modes; ++mode) {
    target.levels[mode].size = made[mode];
    if (mode > 0) target.levels[mode].closed = made[mode - 1];
  }
  return true;
}

template <class T, class Keys>
bool write_entries(const HashedTable& table, const Keys& keys, std::uint64_t count, const Target& target, const Sizes& before) {
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
  return write_entries<T>(table, keys, count, target, before) ? 0 : static_cast<std::int32_t>(KernelStatus::cancelled);
}

template <class T>
std::int32_t append_all(HashedTable& table, const Target& target) {
  if (table.deferrable == 0) {
    if (const std::int32_t status = weft_hashed_sort(&table); status != 0) return status;
    return append_keys<T>(table, LongKeys<T>{table}, table.listed, target);
  }
  const hashed::Ordered order = hashed::ordered(table);
  if (order.numbers == nullptr) return table.status;
  // Equal keys are summed in the order in which they came, before what hashed::ordered() made. No branch here either.
  std::uint64_t* tags = table.sorted;
  T* sums = reinterpret_cast<T*>(table.sorted + table.size);
  std::uint64_t count = 0;
  std::uint64_t before = ~order.tag(0);
  T sum = 0;
  const bool summed = hashed::in_runs(table, table.size, [&](std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t n = first; n < end; ++n) {
      const std::uint64_t tag = order.tag(n);
      const T value = target.counts ? T{0} : reinterpret_cast<const T*>(table.values)[order.entry(n)];
      const bool fresh = tag != before;
      before = tag;
      count += fresh ? 1 : 0;
      sum = fresh ? value : sum + value;
      tags[count - 1] = tag;
      sums[count - 1] = sum;
    }
  });
  if (!summed) return static_cast<std::int32_t>(KernelStatus::cancelled);
  return append_keys<T>(table, PackedKeys<T>{table, tags, sums}, count, target);
}

}  // namespace

std::int32_t weft_hashed_append(HashedTable* table, AppendedOutput* output, std::uint64_t first, std::uint64_t wide,
                                std::uint64_t counts, GrowFunction* grow) {
  if (hashed::is_cancelled(*table)) return static_cast<std::int32_t>(KernelStatus::cancelled);
  if (table->size == 0) return 0;
  const Target target{*output, output->levels + first, first, wide, counts != 0, grow};
  return table->block_bytes == sizeof(double) ? append_all<double>(*table, target) : append_all<float>(*table, target);
}

}  // namespace weft
