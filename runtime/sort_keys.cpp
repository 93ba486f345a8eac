#include "runtime/sort_keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace weft {
namespace {

// One entry in so many columns: reading the marks of 64 columns costs about as much as ordering one key.
constexpr std::uint64_t columns_per_key = 64;
constexpr std::uint64_t longest_compared = 64;
constexpr unsigned digit_bits = 11;

// Least significant digit first. The digits share the bits evenly, so that few counters are cleared.
template <class Key>
void sort_by_digits(Key* keys, Key* scratch, std::uint64_t count, std::uint64_t extent) {
  const auto bits = static_cast<unsigned>(std::bit_width(extent - 1));
  const unsigned passes = (bits + digit_bits - 1) / digit_bits;
  const unsigned width = (bits + passes - 1) / passes;
  const Key mask = (Key{1} << width) - 1;
  std::array<std::uint64_t, std::size_t{1} << digit_bits> places;
  Key* from = keys;
  Key* to = scratch;
  for (unsigned shift = 0; shift < bits; shift += width) {
    std::fill_n(places.begin(), std::size_t{1} << width, 0);
    for (std::uint64_t n = 0; n < count; ++n) ++places[(from[n] >> shift) & mask];
    std::uint64_t before = 0;
    for (std::size_t digit = 0; digit <= mask; ++digit) before += std::exchange(places[digit], before);
    for (std::uint64_t n = 0; n < count; ++n) to[places[(from[n] >> shift) & mask]++] = from[n];
    std::swap(from, to);
  }
  if (from != keys) std::memcpy(keys, from, count * sizeof(Key));
}

template <class Key>
std::uint64_t marked(const std::uint8_t* marks, std::uint64_t extent, Key* keys) {
  std::uint64_t found = 0;
  std::uint64_t column = 0;
  for (; column + 8 <= extent; column += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, marks + column, 8);
    if (eight == 0) continue;
    for (std::uint64_t n = column; n < column + 8; ++n)
      if (marks[n] != 0) keys[found++] = static_cast<Key>(n);
  }
  for (; column < extent; ++column)
    if (marks[column] != 0) keys[found++] = static_cast<Key>(column);
  return found;
}

}  // namespace

bool has_wide_sort() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("popcnt");
  return has;
}

std::uint64_t list_marked(const std::uint8_t* marks, std::uint64_t extent, std::uint32_t* keys) {
  return has_wide_sort() ? wide_marked(marks, extent, keys) : marked(marks, extent, keys);
}

void sort_keys(std::uint32_t* keys, std::uint32_t* scratch, std::uint64_t count, std::uint64_t extent,
               const std::uint8_t* marks) {
  if (count < 2) return;
  const bool wide = has_wide_sort();
  if (marks != nullptr && count > extent / columns_per_key)
    list_marked(marks, extent, keys);
  else if (wide && count <= longest_wide_sort)
    wide_sort(keys, count);
  else if (count <= longest_compared)
    std::sort(keys, keys + count);
  else
    sort_by_digits(keys, scratch, count, extent);
}

void sort_keys(std::uint64_t* keys, std::uint64_t* scratch, std::uint64_t count, std::uint64_t extent,
               const std::uint8_t* marks) {
  if (count < 2) return;
  if (marks != nullptr && count > extent / columns_per_key)
    marked(marks, extent, keys);
  else if (count <= longest_compared)
    std::sort(keys, keys + count);
  else
    sort_by_digits(keys, scratch, count, extent);
}

}  // namespace weft
