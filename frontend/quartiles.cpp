#include "frontend/quartiles.h"

#include <algorithm>
#include <cstddef>

namespace weft {

Quartiles quartiles(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double fraction) {
    const double place = fraction * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0), at(0.25), at(0.5), at(0.75), at(1)};
}

}  // namespace weft
