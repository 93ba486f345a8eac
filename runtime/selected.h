// Some of the entries of a list, and lists read a tile at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/blocks.h"
#include "runtime/indices.h"
#include "weft/tensor.h"

namespace weft {

/// The entries whose byte in `keep` is not 0, in the same order. Consumes the list. Errors: resource, cancelled.
Expected<Coordinates> selected(Coordinates list, const Buffer& keep, const Resources& resources, std::string_view name);

/// Calls f(begin, columns, block) for tiles of the entries: columns[c][n] is coordinate c of entry begin + n, plus
/// offsets[c]. Until the token is cancelled, as for_parts().
template <class F>
void for_tiles(const Coordinates& list, std::span<const std::int64_t> offsets, const Blocks& blocks, const Resources& resources, F&& f) {
  constexpr std::uint64_t tile = 1024;
  for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    std::vector<std::array<std::int64_t, tile>> numbers(list.crd.size());
    std::vector<std::span<const std::int64_t>> columns(list.crd.size());
    for (std::uint64_t first = begin; first < end && !resources.cancellation.cancelled(); first += tile) {
      const std::uint64_t count = std::min(tile, end - first);
      for (std::size_t c = 0; c < list.crd.size(); ++c) {
        if (list.crd[c].size_bytes() == 0) continue;  // a column that is not made yet
        with_width(coordinate_bits(list.extents[c]), [&]<class T>(T) {
          const auto from = list.crd[c].template as<const T>().subspan(first, count);
          std::ranges::transform(from, numbers[c].begin(), [&](T each) { return static_cast<std::int64_t>(each) + offsets[c]; });
        });
        columns[c] = std::span<const std::int64_t>(numbers[c].data(), count);
      }
      f(first, std::span<const std::span<const std::int64_t>>(columns), block);
    }
  });
}

}  // namespace weft
