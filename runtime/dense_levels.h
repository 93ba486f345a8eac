// Where the dense levels at the beginning and at the end of a storage are.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/level_traits.h"
#include "weft/format.h"

namespace weft {

inline std::size_t leading_dense_levels(const std::vector<Level>& levels) {
  std::size_t level = 0;
  while (level < levels.size() && is_dense(levels[level].kind)) ++level;
  return level;
}

/// The levels up to the last one that is not dense: those that have to be appended in order. Dense ones behind them
/// multiply every count by their extents.
inline std::size_t appended_levels(const std::vector<Level>& levels) {
  std::size_t level = levels.size();
  while (level > 0 && is_dense(levels[level - 1].kind)) --level;
  return level;
}

}  // namespace weft
