#include "runtime/hashed_order.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/sort_keys.h"

namespace weft::hashed {
namespace {

/// Of a packed key.
unsigned bits_of(const HashedTable& table) {
  unsigned bits = 0;
  for (std::uint64_t mode = 0; mode < table.modes; ++mode) bits += table.bits[mode];
  return bits;
}

template <unsigned bits>
bool sort_by_digits_of(const HashedTable& table, std::uint64_t*& from, std::uint64_t*& to, std::uint64_t words, std::uint64_t word,
                       unsigned first_bit) {
  constexpr std::uint64_t buckets = 1u << bits;
  std::uint64_t varying = 0;
  for (std::uint64_t n = 1; n < table.size; ++n) varying |= from[n * words + word] ^ from[word];
  for (unsigned shift = first_bit; shift < 64 && (varying >> shift) != 0; shift += bits) {
    if ((varying >> shift) % buckets == 0) continue;
    std::uint64_t starts[buckets] = {};
    for (std::uint64_t n = 0; n < table.size; ++n) ++starts[(from[n * words + word] >> shift) % buckets];
    std::uint64_t start = 0;
    for (std::uint64_t& bucket : starts) start += std::exchange(bucket, start);
    const bool moved = in_runs(table, table.size, [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t n = first; n < end; ++n) {
        const std::uint64_t place = starts[(from[n * words + word] >> shift) % buckets]++;
        for (std::uint64_t each = 0; each < words; ++each) to[place * words + each] = from[n * words + each];
      }
    });
    if (!moved) return false;
    std::swap(from, to);
  }
  return true;
}

}  // namespace

bool sort_by_digits(const HashedTable& table, std::uint64_t*& from, std::uint64_t*& to, std::uint64_t words, std::uint64_t word,
                    unsigned first_bit) {
  constexpr std::uint64_t many = 4096;
  return table.size < many ? sort_by_digits_of<8>(table, from, to, words, word, first_bit)
                           : sort_by_digits_of<11>(table, from, to, words, word, first_bit);
}

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
  if (sort_in_vectors(from, table.size)) return {from, to, entry_bits};
  if (table.size <= few) {
    std::sort(from, from + table.size);
  } else if (!sort_by_digits(table, from, to, 1, 0, entry_bits)) {
    table.status = static_cast<std::int32_t>(KernelStatus::cancelled);
    return {};
  }
  return {from, to, entry_bits};
}

}  // namespace weft::hashed
