#include "frontend/repl/spy.h"

#include <algorithm>
#include <cmath>

#include "frontend/stored.h"
#include "frontend/view.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// Which of `cells` equal parts of an extent holds a coordinate; exact up to extents of 2^53.
std::size_t cell_of(std::uint64_t coordinate, std::uint64_t extent, std::size_t cells) {
  if (extent == cells) return static_cast<std::size_t>(coordinate);
  const double place = (static_cast<double>(coordinate) + 0.5) / static_cast<double>(extent) * static_cast<double>(cells);
  return std::min(static_cast<std::size_t>(place), cells - 1);
}

/// Every element of a dense tensor that is not zero.
Expected<void> visit_nonzeros(const Tensor& tensor, const Cancellation& cancellation, const VisitEntry& visit) {
  const DenseView view = dense_view(tensor, select_all(tensor.extents()));
  if (view.empty()) return {};
  std::vector<std::uint64_t> at(tensor.order(), 0);
  for (std::uint64_t seen = 1;; ++seen) {
    if (seen % 65536 == 0 && cancellation.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    if (const double value = view.at(at); value != 0) visit(at, value);
    std::size_t mode = tensor.order();
    while (mode > 0 && ++at[mode - 1] == tensor.extents()[mode - 1]) at[--mode] = 0;
    if (mode == 0) return {};
  }
}

}  // namespace

Expected<SpyGrid> spy(const Tensor& tensor, std::array<std::size_t, 2> modes, std::size_t rows, std::size_t columns,
                      const Cancellation& cancellation) {
  const bool is_vector = tensor.order() == 1;
  const std::uint64_t height = is_vector ? 1 : tensor.extents()[modes[0]];
  const std::uint64_t width = tensor.extents()[modes[1]];
  SpyGrid grid;
  grid.rows = static_cast<std::size_t>(std::min<std::uint64_t>(height, rows));
  grid.columns = static_cast<std::size_t>(std::min<std::uint64_t>(width, columns));
  grid.counts.assign(grid.rows * grid.columns, 0);
  const bool skips_zeros = is_dense(tensor.format().levels.back().kind);
  const auto count = [&](std::span<const std::uint64_t> at, double value) {
    if (skips_zeros && value == 0) return true;
    const std::size_t row = is_vector ? 0 : cell_of(at[modes[0]], height, grid.rows);
    ++grid.counts[row * grid.columns + cell_of(at[modes[1]], width, grid.columns)];
    ++grid.entries;
    return true;
  };
  const auto visited = tensor.format().all_dense() ? visit_nonzeros(tensor, cancellation, count)
                                                 : visit_entries(tensor, select_all(tensor.extents()), cancellation, count);
  if (!visited) return std::unexpected(visited.error());
  for (const std::uint64_t cell : grid.counts) grid.fullest = std::max(grid.fullest, cell);
  return grid;
}

std::string braille(const SpyGrid& grid) {
  // Bits of the eight dots of a braille character, by row and column (Unicode standard, braille patterns).
  constexpr unsigned dots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  constexpr unsigned bayer[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
  const double scale = std::log1p(static_cast<double>(grid.fullest));
  std::string text;
  if (grid.columns == 0) return text;
  for (std::size_t row = 0; row < grid.rows; row += 4) {
    std::string line;
    std::size_t used = 0;  // without the blanks at the end
    for (std::size_t column = 0; column < grid.columns; column += 2) {
      unsigned pattern = 0;
      for (std::size_t down = 0; down < 4 && row + down < grid.rows; ++down) {
        for (std::size_t right = 0; right < 2 && column + right < grid.columns; ++right) {
          const std::uint64_t count = grid.at(row + down, column + right);
          if (count == 0) continue;
          const double density = std::log1p(static_cast<double>(count)) / scale;
          if (density * 16 > bayer[(row + down) % 4][(column + right) % 4]) pattern |= dots[down][right];
        }
      }
      line += static_cast<char>(0xE2);
      line += static_cast<char>(0xA0 | pattern >> 6);
      line += static_cast<char>(0x80 | (pattern & 0x3F));
      if (pattern != 0) used = line.size();
    }
    line.resize(used);
    text += line + '\n';
  }
  return text;
}

}  // namespace weft
