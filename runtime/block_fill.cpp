#include "runtime/block_fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

constexpr std::array<std::uint64_t, 6> sizes = {1, 2, 3, 4, 6, 8};
constexpr std::array<std::uint64_t, 3> strips = {8, 16, 64};  // one vector, a few, all registers
constexpr std::uint64_t rows_of_a_slice = 8;
constexpr std::uint64_t rows_of_a_band = 192;  // a multiple of all sizes
constexpr std::uint64_t sampled = 65536;
constexpr std::uint64_t longest_inner = std::uint64_t{1} << 24;  // of a mark for each block

bool is_in_order(const Format& format) {
  return std::ranges::all_of(format.levels, [](const Level& level) { return !has_slots(level.kind); });
}

using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // outer and inner coordinates, in order

/// Blocks that hold any of the places: `across` says by coordinates which column of blocks, as numbers below last.size().
template <class Across>
std::uint64_t blocks_of(const Places& places, std::uint64_t high, std::vector<std::uint64_t>& last, const Across& across) {
  std::ranges::fill(last, ~std::uint64_t{0});
  std::uint64_t blocks = 0;
  for (const auto& [outer, inner] : places) {
    std::uint64_t& seen = last[across(outer, inner)];
    if (seen == outer / high) continue;
    seen = outer / high;
    ++blocks;
  }
  return blocks;
}

/// Those of slices of rows: as many for each row as the longest of its slice has entries.
std::uint64_t places_of_slices(const Places& places) {
  std::uint64_t total = 0, longest = 0, length = 0;
  for (std::size_t n = 0; n < places.size(); ++n) {
    const std::uint64_t row = places[n].first;
    const bool same_row = n > 0 && places[n - 1].first == row;
    const bool same_slice = n > 0 && places[n - 1].first / rows_of_a_slice == row / rows_of_a_slice;
    if (!same_slice) total += std::exchange(longest, 0) * rows_of_a_slice;
    length = same_row ? length + 1 : 1;
    longest = std::max(longest, length);
  }
  return total + longest * rows_of_a_slice;
}

}  // namespace

std::string BlockFill::layout() const {
  switch (pieces) {
    case Pieces::strips: return fmt::format("dia({})", rows);
    case Pieces::slices: return fmt::format("sell({})", rows);
    case Pieces::blocks: break;
  }
  return fmt::format("bcsr({},{})", rows, columns);
}

double BlockFill::bytes(const Tensor& matrix) const {
  const double places = static_cast<double>(matrix.nnz()) / fill;
  const double blocks = pieces == Pieces::slices ? places : places / static_cast<double>(rows * columns);
  const double ends = static_cast<double>(matrix.extents()[0]) / static_cast<double>(rows);
  return places * scalar_bytes(matrix.format().scalar) + 4 * (blocks + ends);
}

std::string BlockFill::words() const {
  switch (pieces) {
    case Pieces::strips: return fmt::format("diagonals in strips of {}", rows);
    case Pieces::slices: return fmt::format("slices of {} rows", rows);
    case Pieces::blocks: break;
  }
  return fmt::format("blocks of {} by {}", rows, columns);
}

Expected<std::vector<BlockFill>> block_fills(const Tensor& tensor, const Resources& resources) {
  std::vector<BlockFill> fills;
  if (tensor.format().layout || tensor.order() != 2 || tensor.nnz() == 0 || !is_in_order(tensor.format())) return fills;
  const std::uint32_t outer_mode = tensor.format().mode_order.front();
  const std::uint64_t inner_extent = tensor.extents()[1 - outer_mode];
  if (inner_extent > longest_inner) return fills;
  // Zeros that fill a dense level are no entries, others are.
  const auto listed = entries(tensor, is_dense(tensor.format().levels.back().kind), resources);
  if (!listed) return std::unexpected(listed.error());
  if (listed->count == 0) return fills;
  const auto coordinates = [&](std::uint32_t mode) { return Indices(listed->crd[mode], coordinate_bits(listed->extents[mode])); };
  const Indices outer = coordinates(outer_mode);
  const Indices inner = coordinates(1 - outer_mode);
  const std::uint64_t step = (listed->count + sampled - 1) / sampled;  // every so-manieth band
  Places taken;
  taken.reserve(std::min(listed->count, 2 * sampled));
  for (std::uint64_t n = 0; n < listed->count; ++n) {
    if (outer[n] / rows_of_a_band % step == 0) taken.emplace_back(outer[n], inner[n]);
  }
  if (taken.empty()) return fills;
  std::vector<std::uint64_t> last(inner_extent);
  for (const std::uint64_t high : sizes) {
    for (const std::uint64_t wide : sizes) {
      if (high * wide == 1) continue;
      const std::uint64_t blocks = blocks_of(taken, high, last, [&](std::uint64_t, std::uint64_t column) { return column / wide; });
      const double fill = static_cast<double>(taken.size()) / static_cast<double>(blocks * high * wide);
      fills.push_back(outer_mode == 0 ? BlockFill{high, wide, Pieces::blocks, fill} : BlockFill{wide, high, Pieces::blocks, fill});
    }
  }
  if (outer_mode != 0) return fills;
  fills.push_back({rows_of_a_slice, 1, Pieces::slices, static_cast<double>(taken.size()) / static_cast<double>(places_of_slices(taken))});
  const std::uint64_t rows = tensor.extents()[0];
  if (rows > longest_inner) return fills;
  last.resize(inner_extent + rows);
  for (const std::uint64_t high : strips) {
    const std::uint64_t blocks = blocks_of(taken, high, last, [&](std::uint64_t row, std::uint64_t column) { return column + rows - row; });
    fills.push_back({high, 1, Pieces::strips, static_cast<double>(taken.size()) / static_cast<double>(blocks * high)});
  }
  return fills;
}

Expected<std::vector<BlockFill>> smallest_blocks(const Tensor& tensor, const Resources& resources) {
  constexpr double most_bytes = 1.3;
  constexpr std::size_t most = 4;
  auto fills = block_fills(tensor, resources);
  if (!fills) return fills;
  std::erase_if(*fills, [&](const BlockFill& each) { return each.bytes(tensor) > most_bytes * static_cast<double>(tensor.bytes()); });
  std::ranges::stable_sort(*fills, {}, [&](const BlockFill& each) { return each.bytes(tensor); });
  if (fills->size() > most) fills->resize(most);
  return fills;
}

}  // namespace weft
