// The pattern of a tensor as a picture: counts of entries on a grid, drawn in a terminal, as PNG or as SVG.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft {

/// Entries counted in `rows` times `columns` cells of (nearly) equally many coordinates each. Stored zeros of a dense
/// last level do not count, explicit zeros of sparse tensors do.
struct SpyGrid {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::uint64_t> counts;  ///< row by row
  std::uint64_t entries = 0;
  std::uint64_t fullest = 0;          ///< the largest count
  bool operator==(const SpyGrid&) const = default;

  std::uint64_t at(std::size_t row, std::size_t column) const { return counts[row * columns + column]; }
};

/// The grid over two modes, entries of the others summed, with at most `rows` and `columns` cells; each cell is one
/// coordinate if that fits. A vector is one row (modes[0] is not used then). Error: cancelled.
Expected<SpyGrid> spy(const Tensor& tensor, std::array<std::size_t, 2> modes, std::size_t rows, std::size_t columns,
                      const Cancellation& cancellation);

/// Braille patterns (U+2800 to U+28FF), eight cells a character, a line per four rows. Where cells hold more than one
/// coordinate their density decides, on a logarithmic scale, how many of the dots of a neighbourhood are set (ordered
/// dithering by a 4 x 4 Bayer matrix).
std::string braille(const SpyGrid& grid);

/// Bytes of a picture in levels of grey, white where nothing is stored; small grids are enlarged.
Expected<std::string> spy_png(const SpyGrid& grid);
std::string spy_svg(const SpyGrid& grid, const std::string& title);

}  // namespace weft
