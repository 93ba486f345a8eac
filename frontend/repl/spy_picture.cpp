// PNG (W3C, Portable Network Graphics, second edition) and SVG of a pattern.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "frontend/repl/spy.h"

namespace weft {
namespace {

constexpr std::size_t smallest_picture = 480;  // pixels of the longer side, at least

std::size_t pixels_per_cell(const SpyGrid& grid) {
  return std::max<std::size_t>(1, smallest_picture / std::max<std::size_t>(1, std::max(grid.rows, grid.columns)));
}

/// 255 is white: nothing stored. Any entry is visible; the fullest cell is black.
unsigned char grey(const SpyGrid& grid, std::uint64_t count) {
  if (count == 0) return 255;
  const double density = std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(grid.fullest));
  return static_cast<unsigned char>(std::lround(190 * (1 - density)));
}

std::string big_endian(std::uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16), static_cast<char>(number >> 8), static_cast<char>(number)};
}

/// Length, kind, data, and the checksum of the last two (section 5.3).
std::string chunk(const std::string& kind, const std::string& data) {
  const std::string content = kind + data;
  const uLong checksum = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + content + big_endian(static_cast<std::uint32_t>(checksum));
}

}  // namespace

Expected<std::string> spy_png(const SpyGrid& grid) {
  const std::size_t scale = pixels_per_cell(grid);
  const std::size_t width = std::max<std::size_t>(1, grid.columns * scale);
  const std::size_t height = std::max<std::size_t>(1, grid.rows * scale);
  std::string pixels;
  for (std::size_t row = 0; row < height; ++row) {
    pixels += '\0';  // this line is not filtered
    for (std::size_t column = 0; column < width; ++column) {
      const bool empty = grid.rows == 0 || grid.columns == 0;
      pixels += static_cast<char>(empty ? 255 : grey(grid, grid.at(row / scale, column / scale)));
    }
  }
  uLongf size = compressBound(pixels.size());
  std::string compressed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(compressed.data()), &size, reinterpret_cast<const Bytef*>(pixels.data()), pixels.size(), 9) !=
      Z_OK) {
    return resource_error("no memory to compress the picture");
  }
  compressed.resize(size);
  // Eight bits a pixel, greys, deflate, no filter method but 0, not interlaced.
  const std::string header =
      big_endian(static_cast<std::uint32_t>(width)) + big_endian(static_cast<std::uint32_t>(height)) + std::string("\x08\0\0\0\0", 5);
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", compressed) + chunk("IEND", "");
}

std::string spy_svg(const SpyGrid& grid, const std::string& title) {
  const std::size_t scale = pixels_per_cell(grid);
  // One path per level of grey, cells side by side in one rectangle.
  std::map<unsigned, std::string> paths;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t column = 0; column < grid.columns;) {
      const unsigned level = grey(grid, grid.at(row, column));
      std::size_t end = column + 1;
      while (end < grid.columns && grey(grid, grid.at(row, end)) == level) ++end;
      if (level != 255) paths[level] += fmt::format("M{} {}h{}v1h-{}z", column, row, end - column, end - column);
      column = end;
    }
  }
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" shape-rendering=\"crispEdges\">\n"
      "<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      grid.columns * scale, grid.rows * scale, grid.columns, grid.rows, title);
  for (const auto& [level, path] : paths) text += fmt::format("<path fill=\"#{0:02x}{0:02x}{0:02x}\" d=\"{1}\"/>\n", level, path);
  return text + "</svg>\n";
}

}  // namespace weft
