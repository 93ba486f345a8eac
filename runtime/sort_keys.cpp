#include "runtime/sort_keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace weft {
namespace {

// One entry in so many columns: reading their marks costs about as much as ordering one key, 2.5 ns. The marks of 64 columns take
// 1.8 ns where bytes are compressed in registers, 6 where words are; with AVX2 2, and 1.4 for a key; else 15.
constexpr std::uint64_t columns_per_key_by_bytes = 88;
constexpr std::uint64_t columns_per_key_by_words = 24;
constexpr std::uint64_t columns_per_key_avx2 = 40;
constexpr std::uint64_t columns_per_digits_avx2 = 128;  // where the list is too long for registers
constexpr std::uint64_t columns_per_key_alone = 8;
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

/// A bit for each of eight bytes, the first in the lowest: whether it is not zero.
std::uint64_t bits_of_eight(const std::uint8_t* bytes) {
  constexpr std::uint64_t low = 0x7F7F'7F7F'7F7F'7F7F;
  std::uint64_t eight;
  std::memcpy(&eight, bytes, 8);
  if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
  const std::uint64_t highest = (((eight & low) + low) | eight) & ~low;
  return ((highest >> 7) * 0x0102'0408'1020'4080) >> 56;
}

template <class Key>
std::uint64_t marked(const std::uint8_t* marks, std::uint64_t extent, Key* keys) {
  std::uint64_t found = 0;
  std::uint64_t column = 0;
  for (; column + 64 <= extent; column += 64) {
    std::uint64_t bits = 0;  // of 64 columns: what branches is the number of keys, not each of them
    for (unsigned word = 0; word < 8; ++word) bits |= bits_of_eight(marks + column + 8 * word) << (8 * word);
    for (; bits != 0; bits &= bits - 1) keys[found++] = static_cast<Key>(column + static_cast<std::uint64_t>(std::countr_zero(bits)));
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

bool has_avx2_sort() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
  return has;
}

bool has_byte_compress() {
  static const bool has = has_wide_sort() && __builtin_cpu_supports("avx512vbmi2");
  return has;
}

std::uint64_t list_marked(const std::uint8_t* marks, std::uint64_t extent, std::uint32_t* keys) {
  if (has_byte_compress()) return wide_marked_by_bytes(marks, extent, keys);
  if (has_wide_sort()) return wide_marked_by_words(marks, extent, keys);
  return has_avx2_sort() ? avx2_marked(marks, extent, keys) : marked(marks, extent, keys);
}

template <class Key>
static bool sorted_in_vectors(Key* keys, std::uint64_t count, std::uint64_t longest_by_avx2) {
  if (has_wide_sort() && count <= longest_wide_sort) {
    wide_sort(keys, count);
  } else if (has_avx2_sort() && count <= longest_by_avx2) {
    avx2_sort(keys, count);
  } else {
    return false;
  }
  return true;
}

bool sort_in_vectors(std::uint32_t* keys, std::uint64_t count) { return sorted_in_vectors(keys, count, longest_avx2_sort); }
bool sort_in_vectors(std::uint64_t* keys, std::uint64_t count) { return sorted_in_vectors(keys, count, longest_long_avx2_sort); }

void sort_keys(std::uint32_t* keys, std::uint32_t* scratch, std::uint64_t count, std::uint64_t extent,
               const std::uint8_t* marks) {
  if (count < 2) return;
  const std::uint64_t columns_per_key = has_byte_compress()         ? columns_per_key_by_bytes
                                        : has_wide_sort()           ? columns_per_key_by_words
                                        : !has_avx2_sort()          ? columns_per_key_alone
                                        : count > longest_avx2_sort ? columns_per_digits_avx2
                                                                    : columns_per_key_avx2;
  if (marks != nullptr && count > extent / columns_per_key) {
    list_marked(marks, extent, keys);
  } else if (!sort_in_vectors(keys, count)) {
    if (count <= longest_compared) std::sort(keys, keys + count);
    else sort_by_digits(keys, scratch, count, extent);
  }
}

void sort_keys(std::uint64_t* keys, std::uint64_t* scratch, std::uint64_t count, std::uint64_t extent,
               const std::uint8_t* marks) {
  if (count < 2) return;
  if (marks != nullptr && count > extent / columns_per_key_alone)
    marked(marks, extent, keys);
  else if (count <= longest_compared)
    std::sort(keys, keys + count);
  else
    sort_by_digits(keys, scratch, count, extent);
}

}  // namespace weft
