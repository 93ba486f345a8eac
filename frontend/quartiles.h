// Quartiles of times and ratios.
#pragma once

#include <vector>

namespace weft {

struct Quartiles {
  double least = 0, low = 0, median = 0, high = 0, most = 0;
};

/// By linear interpolation between neighbours; of at least one value, in any order.
Quartiles quartiles(std::vector<double> values);

}  // namespace weft
