// Timing: times of repeated runs, and several runs taken in turn so that a change of the machine meets all alike.
#pragma once

#include <functional>
#include <vector>

#include "weft/error.h"

namespace weft::bench {

struct Timing {
  std::vector<double> ms;  ///< in the order they were taken
  double median() const;
  double quantile(double fraction) const;
  /// Half the distance of the quartiles over the median: 0.02 is "within 2 %".
  double spread() const;
};

/// Milliseconds of one call.
double time_ms(const std::function<void()>& run);

/// Warms each up once, then takes them in turn until `seconds` have passed in all, at least 5 and at most 200 rounds.
std::vector<Timing> interleaved(const std::vector<std::function<void()>>& runs, double seconds);

}  // namespace weft::bench
