#include "runtime/sparse_levels.h"

#include <algorithm>

#include "weft/layout.h"

namespace weft {

bool has_sparse_level(const Format& format) {
  return std::any_of(format.levels.begin(), format.levels.end(),
                     [](const Level& level) { return is_sparse(level.kind); });
}

bool same_layout(const Format& left, const Format& right) {
  if (left.layout || right.layout) return left.layout && right.layout && *left.layout == *right.layout;
  return left.mode_order == right.mode_order &&
         std::equal(left.levels.begin(), left.levels.end(), right.levels.begin(), right.levels.end(),
                    [](const Level& a, const Level& b) { return a.kind == b.kind; });
}

}  // namespace weft
