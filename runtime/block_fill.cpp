#include "runtime/block_fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
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

/// Entries in the order of their outer coordinates, of which those in ranges are looked at.
struct Taken {
  Indices outer;
  Indices inner;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  std::uint64_t count = 0;
};

template <class Visit>
void each_place(const Taken& taken, const Visit& visit) {
  for (const auto& [begin, end] : taken.ranges)
    for (std::uint64_t n = begin; n < end; ++n) visit(taken.outer[n], taken.inner[n]);
}

/// Blocks that hold any of the places: `across` says by coordinates which column of blocks, as numbers below last.size().
template <class Across>
std::uint64_t blocks_of(const Taken& taken, std::uint64_t high, std::vector<std::uint64_t>& last, const Across& across) {
  std::ranges::fill(last, ~std::uint64_t{0});
  std::uint64_t blocks = 0;
  each_place(taken, [&](std::uint64_t outer, std::uint64_t inner) {
    const std::uint64_t row = outer / high;
    blocks += std::exchange(last[across(outer, inner)], row) != row;
  });
  return blocks;
}

/// Those of slices of rows: as many for each row as the longest of its slice has entries.
std::uint64_t places_of_slices(const Taken& taken) {
  std::uint64_t total = 0, longest = 0, length = 0, before = ~std::uint64_t{0};
  each_place(taken, [&](std::uint64_t row, std::uint64_t) {
    if (before / rows_of_a_slice != row / rows_of_a_slice) total += std::exchange(longest, 0) * rows_of_a_slice;
    length = before == row ? length + 1 : 1;
    longest = std::max(longest, length);
    before = row;
  });
  return total + longest * rows_of_a_slice;
}

/// A matrix whose blocks can be counted.
class Matrix {
 public:
  /// Nothing where there are none, or too many columns of them.
  static Expected<std::optional<Matrix>> of(const Tensor& tensor, const Resources& resources) {
    if (tensor.format().layout || tensor.order() != 2 || tensor.nnz() == 0 || !is_in_order(tensor.format())) return std::nullopt;
    const std::uint32_t outer_mode = tensor.format().mode_order.front();
    if (tensor.extents()[1 - outer_mode] > longest_inner) return std::nullopt;
    // Zeros that fill a dense level are no entries, others are.
    auto listed = entries(tensor, is_dense(tensor.format().levels.back().kind), resources);
    if (!listed) return std::unexpected(listed.error());
    if (listed->count == 0) return std::nullopt;
    return Matrix(std::move(*listed), outer_mode);
  }

  /// Bands of rows spread over the matrix; all of it where it has no more entries.
  Taken sample() const {
    const std::uint64_t step = (listed_.count + sampled - 1) / sampled;  // every so-manieth band
    Taken taken = none();
    for (std::uint64_t n = 0; n < listed_.count; ++n) {
      if (taken.outer[n] / rows_of_a_band % step != 0) continue;
      if (taken.ranges.empty() || taken.ranges.back().second != n) taken.ranges.emplace_back(n, n);
      taken.ranges.back().second = n + 1;
      ++taken.count;
    }
    return taken;
  }
  Taken all() const {
    Taken taken = none();
    taken.ranges.emplace_back(0, listed_.count);
    taken.count = listed_.count;
    return taken;
  }

  bool is_all(const Taken& taken) const { return taken.count == listed_.count; }

  /// Those that block_fills() is about, with their fill.
  std::vector<BlockFill> fills(const Taken& taken) {
    std::vector<BlockFill> fills;
    if (taken.count == 0) return fills;
    for (const std::uint64_t high : sizes) {
      for (const std::uint64_t wide : sizes) {
        if (high * wide == 1) continue;
        fills.push_back(outer_mode_ == 0 ? BlockFill{high, wide, Pieces::blocks} : BlockFill{wide, high, Pieces::blocks});
      }
    }
    if (outer_mode_ == 0) {
      fills.push_back({rows_of_a_slice, 1, Pieces::slices});
      if (rows() <= longest_inner)
        for (const std::uint64_t high : strips) fills.push_back({high, 1, Pieces::strips});
    }
    for (BlockFill& each : fills) each.fill = static_cast<double>(taken.count) / static_cast<double>(places(each, taken));
    return fills;
  }

  /// The places of the pieces that hold any of the entries.
  std::uint64_t places(const BlockFill& shape, const Taken& taken) {
    const std::uint64_t high = outer_mode_ == 0 ? shape.rows : shape.columns;
    const std::uint64_t wide = outer_mode_ == 0 ? shape.columns : shape.rows;
    switch (shape.pieces) {
      case Pieces::slices: return places_of_slices(taken);
      case Pieces::strips:
        last_.resize(inner_extent() + rows());
        return high * blocks_of(taken, high, last_, [&](std::uint64_t row, std::uint64_t column) { return column + rows() - row; });
      case Pieces::blocks: break;
    }
    last_.resize(inner_extent());
    return high * wide * blocks_of(taken, high, last_, [&](std::uint64_t, std::uint64_t column) { return column / wide; });
  }

 private:
  Matrix(Coordinates listed, std::uint32_t outer_mode) : listed_(std::move(listed)), outer_mode_(outer_mode) {}

  std::uint64_t rows() const { return listed_.extents[outer_mode_]; }
  std::uint64_t inner_extent() const { return listed_.extents[1 - outer_mode_]; }
  Taken none() const {
    const auto coordinates = [&](std::uint32_t mode) { return Indices(listed_.crd[mode], coordinate_bits(listed_.extents[mode])); };
    return {coordinates(outer_mode_), coordinates(1 - outer_mode_), {}, 0};
  }

  Coordinates listed_;
  std::uint32_t outer_mode_;
  std::vector<std::uint64_t> last_;  ///< by column of blocks: the last row of blocks with an entry there
};

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
  auto matrix = Matrix::of(tensor, resources);
  if (!matrix) return std::unexpected(matrix.error());
  return *matrix ? (*matrix)->fills((*matrix)->sample()) : std::vector<BlockFill>();
}

Expected<std::vector<BlockFill>> smallest_blocks(const Tensor& tensor, const Resources& resources) {
  constexpr double most_bytes = 1.3;
  constexpr std::size_t most = 4;
  constexpr std::size_t most_counted = 8;  // of all entries: a pass for each
  auto matrix = Matrix::of(tensor, resources);
  if (!matrix) return std::unexpected(matrix.error());
  std::vector<BlockFill> fills;
  if (!*matrix) return fills;
  const auto bytes = [&](const BlockFill& each) { return each.bytes(tensor); };
  Taken sample = (*matrix)->sample();
  if (sample.count == 0) sample = (*matrix)->all();
  fills = (*matrix)->fills(sample);
  std::ranges::stable_sort(fills, {}, bytes);
  if (!(*matrix)->is_all(sample)) {
    const Taken all = (*matrix)->all();
    if (fills.size() > most_counted) fills.resize(most_counted);
    for (BlockFill& each : fills) each.fill = static_cast<double>(all.count) / static_cast<double>((*matrix)->places(each, all));
    std::ranges::stable_sort(fills, {}, bytes);
  }
  std::erase_if(fills, [&](const BlockFill& each) { return bytes(each) > most_bytes * static_cast<double>(tensor.bytes()); });
  if (fills.size() > most) fills.resize(most);
  return fills;
}

}  // namespace weft
