// Hashed and bitmap levels: their positions include some without an entry, gaps.
//
// bitmap: crd holds words of 64 bits, ceil(extent / 64) for each position of the parent, bit c of them telling whether
// coordinate c has an entry; its position is parent * extent + c, as in a dense level. pos is empty.
// hashed: the slots of parent p are positions pos[p] .. pos[p + 1], none or a power of two of them, more than entries;
// crd holds a coordinate per slot, or `empty_slot` in its width. An entry stands at the first free slot from
// first_slot() on, cyclically.
// Below a gap nothing is stored: empty fibers, values of 0.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/extents.h"
#include "runtime/level_traits.h"
#include "weft/tensor.h"

namespace weft {

bool has_gaps(const Format& format);
/// Whether positions above a level include gaps, with nothing between that would leave them out.
bool below_gaps(const std::vector<Level>& levels, std::size_t level);
/// The format with compressed levels instead.
Format without_gaps(Format format);

constexpr std::uint64_t bitmap_words(std::uint64_t extent) { return extent / 64 + (extent % 64 != 0); }

constexpr std::uint64_t empty_slot(unsigned crd_bits) { return ~std::uint64_t{0} >> (64 - crd_bits); }
/// Slots of a fiber: at most two thirds are taken, so that probing finds an empty one.
constexpr std::uint64_t slots_for(std::uint64_t entries) {
  return entries == 0 ? 0 : std::bit_ceil(entries + entries / 2 + 1);
}
/// Multiplicative hashing by the golden ratio (Knuth, TAOCP 6.4): the highest bits of the product. Kernels do the same.
constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15;
/// Where the search for a coordinate begins. `slots` is a power of two.
constexpr std::uint64_t first_slot(std::uint64_t coordinate, std::uint64_t slots) {
  return slots <= 1 ? 0 : (coordinate * golden_ratio) >> (64 - std::countr_zero(slots));
}

/// Entries at the positions of the level: gaps are left out, dense levels below are not counted.
std::uint64_t entries_of_level(const Tensor& tensor, std::size_t level);

/// Of a tensor that is to be made with gaps.
struct KnownAhead {
  std::vector<std::uint64_t> least = {};  ///< entries that each level has at least; empty: none
  std::uint64_t most = saturated;         ///< that no level has more of
  std::uint64_t given_back = 0;           ///< bytes that are in use now, and may not be when it is made
  const Layout* layout = nullptr;         ///< whose levels these are, for messages; null: of the format
};
/// Resource error: 64 bits do not count the bytes.
std::unexpected<Error> beyond_addresses(const Format& format, const Layout* layout, std::string_view name);

/// Resource error naming `name` where the memory has no room for what relaid() holds at the same time while it makes a tensor
/// over the extents (by mode), told before any of that is written to. Without gaps: no error.
Expected<void> room_for_gaps(const Format& format, std::span<const std::uint64_t> extents, const KnownAhead& known,
                             const Resources& resources, std::string_view name);

/// The same tensor with compressed, hashed and bitmap levels exchanged for each other: `format` has the same mode order,
/// scalar and, elsewhere, kinds. Widths are minima, as for convert(). Resource error naming `name`.
Expected<Tensor> relaid(const Tensor& tensor, const Format& format, const Resources& resources, std::string_view name);

}  // namespace weft
