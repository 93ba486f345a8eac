#include "frontend/repl/spy.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include "frontend/operand.h"

namespace weft::spy_test {
namespace {

const Resources resources{Memory(), Threads(1), {}, {}};

/// Ones at these places.
Tensor pattern(std::vector<std::uint64_t> extents, const std::vector<std::vector<std::uint32_t>>& places, const char* format) {
  Coordinates coordinates;
  coordinates.extents = std::move(extents);
  coordinates.count = places.size();
  for (std::size_t mode = 0; mode < coordinates.extents.size(); ++mode) {
    coordinates.crd.push_back(*Buffer::allocate(4 * places.size(), resources.memory, "T"));
    for (std::size_t n = 0; n < places.size(); ++n) coordinates.crd[mode].as<std::uint32_t>()[n] = places[n][mode];
  }
  coordinates.values = *Buffer::allocate(8 * places.size(), resources.memory, "T");
  for (double& value : coordinates.values.as<double>()) value = 1;
  auto tensor = build(std::move(coordinates), *parse_format(format), resources, "T");
  REQUIRE(tensor);
  return *tensor;
}

SpyGrid grid_of(const Tensor& tensor, std::array<std::size_t, 2> modes, std::size_t rows, std::size_t columns) {
  const auto grid = spy(tensor, modes, rows, columns, {});
  REQUIRE(grid);
  return *grid;
}

using Counts = std::vector<std::uint64_t>;

TEST_CASE("a cell is a coordinate where there is room, else it counts") {
  for (const char* format : {"ss", "dd", "ds:1,0", "sd", "uq"}) {
    CAPTURE(format);
    const Tensor tensor = pattern({4, 6}, {{0, 0}, {1, 1}, {1, 2}, {3, 5}}, format);
    const SpyGrid exact = grid_of(tensor, {0, 1}, 10, 10);
    CHECK(exact.counts == Counts{1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
    CHECK(grid_of(tensor, {0, 1}, 2, 3) == SpyGrid{2, 3, {2, 1, 0, 0, 0, 1}, 4, 2});
    CHECK(grid_of(tensor, {1, 0}, 3, 2).counts == Counts{2, 0, 1, 0, 0, 1});
  }
}

TEST_CASE("modes that are not shown are summed; a vector is a row") {
  const Tensor tensor = pattern({2, 2, 9}, {{0, 1, 3}, {0, 1, 8}, {1, 0, 8}}, "sss");
  CHECK(grid_of(tensor, {0, 1}, 9, 9).counts == Counts{0, 2, 1, 0});
  CHECK(grid_of(tensor, {1, 2}, 9, 3).counts == Counts{0, 0, 1, 0, 1, 1});
  CHECK(grid_of(pattern({5}, {{1}, {4}}, "s"), {0, 0}, 9, 9) == SpyGrid{1, 5, {0, 1, 0, 0, 1}, 2, 1});
}

TEST_CASE("extents of 0, nothing stored, coordinates beyond 2^53") {
  const Tensor none = *load_operand("sparse(5x0,nnz=0)", {}, resources, "T");
  CHECK(grid_of(none, {0, 1}, 4, 4).entries == 0);
  CHECK(braille(grid_of(none, {0, 1}, 4, 4)) == "");
  CHECK(spy_png(grid_of(none, {0, 1}, 4, 4)));
  const Tensor empty = *load_operand("sparse(5x5,nnz=0)", {}, resources, "T");
  CHECK(braille(grid_of(empty, {0, 1}, 8, 8)) == "\n\n");
  const Tensor huge = *load_operand("sparse(9223372036854775807x4,nnz=20)", {}, resources, "T");
  CHECK(grid_of(huge, {0, 1}, 7, 4).entries == 20);
}

TEST_CASE("braille: eight cells a character, blanks at the end are left out") {
  CHECK(braille(grid_of(pattern({4, 2}, {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 1}}, "ss"), {0, 1}, 9, 9)) == "⣿\n");
  CHECK(braille(grid_of(pattern({5, 4}, {{0, 0}, {3, 3}, {4, 0}}, "ss"), {0, 1}, 9, 9)) == "⠁⢀\n⠁\n");
  // One entry in a thousand beside a full cell: few dots, but not none.
  SpyGrid grid{16, 16, Counts(256, 1), 256, 1000};
  grid.counts[0] = 1000;
  const std::string sparse = braille(grid);
  grid.counts.assign(256, 1000);
  CHECK(sparse != braille(grid));
  CHECK(sparse.size() < 200);
  CHECK(sparse.find("⠁") != std::string::npos);
}

std::uint32_t number(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t byte = 0; byte < 4; ++byte) value = value << 8 | static_cast<unsigned char>(bytes[at + byte]);
  return value;
}

TEST_CASE("PNG: chunks with their checksums, and the pixels") {
  const SpyGrid grid = grid_of(pattern({2, 3}, {{0, 0}, {1, 2}}, "ss"), {0, 1}, 9, 9);
  const auto png = spy_png(grid);
  REQUIRE(png);
  REQUIRE(png->starts_with("\x89PNG\r\n\x1a\n"));
  std::string kinds;
  std::string compressed;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  for (std::size_t at = 8; at < png->size();) {
    const std::uint32_t length = number(*png, at);
    const std::string kind = png->substr(at + 4, 4);
    const std::string content = png->substr(at + 4, length + 4);
    CHECK(number(*png, at + 8 + length) == crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
    if (kind == "IHDR") {
      width = number(*png, at + 8);
      height = number(*png, at + 12);
    }
    if (kind == "IDAT") compressed = png->substr(at + 8, length);
    kinds += kind;
    at += 12 + length;
  }
  CHECK(kinds == "IHDRIDATIEND");
  CHECK(width == 480);
  CHECK(height == 320);
  std::string pixels((width + 1) * height, '\0');
  uLongf size = pixels.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(pixels.data()), &size, reinterpret_cast<const Bytef*>(compressed.data()),
                     compressed.size()) == Z_OK);
  REQUIRE(size == pixels.size());
  const auto pixel = [&](std::size_t row, std::size_t column) {
    return static_cast<unsigned char>(pixels[row * (width + 1) + 1 + column]);
  };
  CHECK(pixel(0, 0) == 0);
  CHECK(pixel(159, 159) == 0);
  CHECK(pixel(0, 160) == 255);
  CHECK(pixel(160, 0) == 255);
  CHECK(pixel(319, 479) == 0);
}

TEST_CASE("SVG: a rectangle for cells side by side, a path per grey") {
  const std::string svg = spy_svg(grid_of(pattern({2, 3}, {{0, 0}, {0, 1}, {1, 2}}, "ss"), {0, 1}, 9, 9), "T");
  CHECK(svg.find("viewBox=\"0 0 3 2\"") != std::string::npos);
  CHECK(svg.find("<path fill=\"#000000\" d=\"M0 0h2v1h-2zM2 1h1v1h-1z\"/>") != std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace weft::spy_test
