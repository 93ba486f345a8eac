#include "bench/layout_matrices.h"

#include <algorithm>
#include <functional>
#include <set>

#include "bench/data.h"

namespace weft::bench {
namespace {

constexpr std::uint64_t drawn_rows = 12'000;
constexpr std::uint64_t band_rows = 100'000;
constexpr std::uint64_t band_width = 9;

/// Entries (row, column) of one row of blocks, or of one row.
using Place = std::function<void(std::uint64_t row, std::uint64_t column)>;

/// `count` different numbers below `below`.
std::set<std::uint64_t> drawn(std::uint64_t count, std::uint64_t below, std::uint64_t seed) {
  std::set<std::uint64_t> numbers;
  for (std::uint64_t n = 0; numbers.size() < count; ++n) numbers.insert(mix(seed * 0x10000 + n) % below);
  return numbers;
}

void draw_squares(std::uint64_t size, const Place& place) {
  for (std::uint64_t block_row = 0; block_row < drawn_rows / size; ++block_row) {
    const std::set<std::uint64_t> blocks = drawn(96 / size, drawn_rows / size, block_row);
    for (std::uint64_t row = 0; row < size; ++row)
      for (const std::uint64_t block : blocks)
        for (std::uint64_t column = 0; column < size; ++column) place(block_row * size + row, block * size + column);
  }
}

void draw_pairs(std::uint64_t extent, const Place& place) {
  for (std::uint64_t row = 0; row < extent; ++row)
    for (std::uint64_t group = 0; group < extent / 4; ++group)
      for (const std::uint64_t column : drawn(2, 4, row * extent + group)) place(row, 4 * group + column);
}

void draw_runs(std::uint64_t length, const Place& place) {
  for (std::uint64_t row = 0; row < drawn_rows; ++row)
    for (const std::uint64_t run : drawn(96 / length, drawn_rows / (2 * length), row))
      for (std::uint64_t column = 0; column < length; ++column) place(row, 2 * run * length + row % length + column);
}

void draw_diagonals(std::uint64_t extent, const Place& place) {
  constexpr std::uint64_t half = band_width / 2;
  for (std::uint64_t row = 0; row < extent; ++row)
    for (std::uint64_t column = row < half ? 0 : row - half; column <= std::min(row + half, extent - 1); ++column) place(row, column);
}

}  // namespace

const std::vector<std::string>& drawn_matrices() {
  static const std::vector<std::string> names = {"squares4", "squares8", "pairs", "runs"};
  return names;
}

Expected<Tensor> drawn_matrix(const std::string& name, const Resources& resources) {
  constexpr std::uint64_t paired = 2048;
  const bool band = name == "diagonals";
  const std::uint64_t extent = name == "pairs" ? paired : band ? band_rows : drawn_rows;
  const std::uint64_t beside = band_width / 2 * (band_width / 2 + 1);  // places of the diagonals outside of the matrix
  const std::uint64_t count = band ? extent * band_width - beside : extent * (name == "pairs" ? paired / 2 : 96);
  Coordinates coordinates{.extents = {extent, extent}, .crd = {}, .values = {}, .scalar = Scalar::f64, .count = count};
  for (int mode = 0; mode < 2; ++mode) {
    auto crd = Buffer::allocate(count * 4, resources.memory, "coordinates");
    if (!crd) return std::unexpected(crd.error());
    coordinates.crd.push_back(std::move(*crd));
  }
  auto values = Buffer::allocate(count * 8, resources.memory, "values");
  if (!values) return std::unexpected(values.error());
  coordinates.values = std::move(*values);
  std::uint64_t n = 0;
  const Place place = [&](std::uint64_t row, std::uint64_t column) {
    coordinates.crd[0].as<std::uint32_t>()[n] = static_cast<std::uint32_t>(row);
    coordinates.crd[1].as<std::uint32_t>()[n] = static_cast<std::uint32_t>(column % extent);
    coordinates.values.as<double>()[n] = static_cast<double>(1 + mix(~n) % 4);
    ++n;
  };
  if (name == "pairs") {
    draw_pairs(extent, place);
  } else if (name == "runs") {
    draw_runs(16, place);
  } else if (band) {
    draw_diagonals(extent, place);
  } else {
    draw_squares(name == "squares4" ? 4 : 8, place);
  }
  return build(std::move(coordinates), *parse_format("ds"), resources, name);
}

}  // namespace weft::bench
