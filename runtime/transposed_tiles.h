// Dense elements that change the order of their modes: squares of neighbours in both orders.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/blocks.h"

namespace weft {

/// How far apart elements are along the levels of what is written, in what is read and there, outermost first.
struct CopiedLevels {
  std::vector<std::uint64_t> extents, from_strides, to_strides;
};

/// The level whose elements are neighbours in what is read, where those of the last, which are in what is written, are not;
/// both with a line of elements at least. R(j,i) = D(i,j): that of j.
inline std::optional<std::size_t> level_read_in_order(const CopiedLevels& levels, std::uint64_t line) {
  const std::size_t order = levels.extents.size();
  if (order < 2) return std::nullopt;
  const std::size_t last = order - 1;
  if (levels.to_strides[last] != 1 || levels.from_strides[last] == 1 || levels.extents[last] < line) return std::nullopt;
  for (std::size_t level = 0; level < last; ++level)
    if (levels.from_strides[level] == 1 && levels.extents[level] >= line) return level;
  return std::nullopt;
}

/// set(to, from) for every element, by numbers in memory, which wrap where strides are negative. Squares of `line` elements along the
/// level `across` and the last go through a room in the first cache, so that each line of memory is read and written as a whole:
/// row by row, one of the two would be touched again for each of its elements. `line` elements of From fill a line of the cache.
template <std::size_t line, class From, class Set>
void copy_transposed(const CopiedLevels& levels, std::size_t across, std::uint64_t first_from, std::uint64_t first_to,
                     const From* given, const Threads& threads, Set&& set) {
  const std::size_t last = levels.extents.size() - 1;
  const std::uint64_t length = levels.extents[last], step = levels.from_strides[last], to_step = levels.to_strides[across];
  const std::uint64_t bands = (levels.extents[across] + line - 1) / line;
  std::uint64_t count = bands;
  for (std::size_t level = 0; level < last; ++level)
    if (level != across) count *= levels.extents[level];
  const std::uint64_t grain = std::max<std::uint64_t>((1 << 14) / (line * length), 1);
  for_blocks(threads, Blocks(count, threads, grain), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    std::array<std::array<From, line>, line> room;
    for (std::uint64_t number = begin; number < end; ++number) {
      const std::uint64_t band = number % bands;
      std::uint64_t rest = number / bands;
      std::uint64_t from = first_from + band * line, to = first_to + band * line * to_step;
      for (std::size_t level = last; level-- > 0;) {
        if (level == across) continue;
        const std::uint64_t at = rest % levels.extents[level];
        rest /= levels.extents[level];
        from += at * levels.from_strides[level];
        to += at * levels.to_strides[level];
      }
      const std::uint64_t rows = std::min<std::uint64_t>(line, levels.extents[across] - band * line);
      std::uint64_t column = 0;
      for (; rows == line && column + line <= length; column += line) {
        for (std::uint64_t c = 0; c < line; ++c)
          for (std::uint64_t r = 0; r < line; ++r) room[r][c] = given[from + (column + c) * step + r];
        for (std::uint64_t r = 0; r < line; ++r)
          for (std::uint64_t c = 0; c < line; ++c) set(to + r * to_step + column + c, room[r][c]);
      }
      for (; column < length; ++column)
        for (std::uint64_t r = 0; r < rows; ++r) set(to + r * to_step + column, given[from + column * step + r]);
    }
  });
}

}  // namespace weft
