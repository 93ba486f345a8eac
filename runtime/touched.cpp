// The lists of accumulators in order. Kernels call these functions by the names that runtime/abi.h gives them.
//
// Measured (ns per entry, random coordinates): insertion sort 5 at 4 entries; radix sort with digits of 6 bits 4 to 6 from
// 30 entries on, 8 bits better from some 500; std::sort 15 at 30 entries, 21 at 100, 40 at 10,000; reading the marks 1 to 2
// plus 0.012 per mark and entry.
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "runtime/abi.h"

namespace weft {

namespace {

constexpr std::uint64_t few_entries = 10;
/// With fewer marks than this per entry, reading all marks is cheaper than sorting.
constexpr std::uint64_t marks_per_entry = 256;
constexpr std::uint64_t many_entries = 512;

template <class Coordinate>
void insertion_sort(Coordinate* touched, std::uint64_t count) {
  for (std::uint64_t n = 1; n < count; ++n) {
    const Coordinate moved = touched[n];
    std::uint64_t place = n;
    for (; place > 0 && touched[place - 1] > moved; --place) touched[place] = touched[place - 1];
    touched[place] = moved;
  }
}

/// Least significant digit first; `spare` has room for as many.
template <class Coordinate, unsigned bits>
void radix_sort(Coordinate* touched, Coordinate* spare, std::uint64_t count, unsigned significant) {
  constexpr std::uint64_t buckets = 1u << bits;
  constexpr unsigned most = (sizeof(Coordinate) * 8 + bits - 1) / bits;
  const unsigned passes = (significant + bits - 1) / bits;
  std::uint32_t starts[most][buckets];
  std::memset(starts, 0, sizeof(starts[0]) * passes);
  for (std::uint64_t n = 0; n < count; ++n)
    for (unsigned pass = 0; pass < passes; ++pass) ++starts[pass][(touched[n] >> (pass * bits)) % buckets];
  Coordinate* from = touched;
  Coordinate* to = spare;
  for (unsigned pass = 0; pass < passes; ++pass) {
    std::uint32_t start = 0;
    for (std::uint32_t& bucket : starts[pass]) start += std::exchange(bucket, start);
    for (std::uint64_t n = 0; n < count; ++n) to[starts[pass][(from[n] >> (pass * bits)) % buckets]++] = from[n];
    std::swap(from, to);
  }
  if (from != touched) std::memcpy(touched, from, count * sizeof(Coordinate));
}

/// Writes down the marked coordinates. Marks are 0 or 1.
template <class Coordinate>
void read_marks(Coordinate* touched, const std::uint8_t* marks, std::uint64_t extent) {
  constexpr std::uint64_t line = 64;
  std::uint64_t coordinate = 0;
  for (; coordinate + line <= extent; coordinate += line) {
    std::uint64_t words[8];
    std::memcpy(words, marks + coordinate, line);
    std::uint64_t any = 0;
    for (const std::uint64_t word : words) any |= word;
    if (any == 0) continue;
    std::uint64_t set = 0;  // a bit per mark: the product gathers the lowest bits of eight bytes in the highest byte
    for (unsigned n = 0; n < 8; ++n) set |= (words[n] * 0x0102040810204080u >> 56) << (8 * n);
    for (; set != 0; set &= set - 1)
      *touched++ = static_cast<Coordinate>(coordinate + static_cast<unsigned>(std::countr_zero(set)));
  }
  for (; coordinate < extent; ++coordinate)
    if (marks[coordinate] != 0) *touched++ = static_cast<Coordinate>(coordinate);
}

template <class Coordinate>
void sort_touched(Coordinate* touched, std::uint64_t count, const std::uint8_t* marks, std::uint64_t extent) {
  if (count <= few_entries)
    insertion_sort(touched, count);
  else if (extent / marks_per_entry < count || count > UINT32_MAX)
    read_marks(touched, marks, extent);
  else if (count < many_entries)
    radix_sort<Coordinate, 6>(touched, touched + count, count, static_cast<unsigned>(std::bit_width(extent - 1)));
  else
    radix_sort<Coordinate, 8>(touched, touched + count, count, static_cast<unsigned>(std::bit_width(extent - 1)));
}

}  // namespace

void weft_sort_touched_32(std::uint32_t* touched, std::uint64_t count, const std::uint8_t* marks,
                          std::uint64_t extent) {
  sort_touched(touched, count, marks, extent);
}

void weft_sort_touched_64(std::uint64_t* touched, std::uint64_t count, const std::uint8_t* marks,
                          std::uint64_t extent) {
  sort_touched(touched, count, marks, extent);
}

}  // namespace weft
