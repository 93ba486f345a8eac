#include "bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace weft::bench {

double Timing::quantile(double fraction) const {
  if (ms.empty()) return std::nan("");
  std::vector<double> sorted = ms;
  std::sort(sorted.begin(), sorted.end());
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double Timing::median() const { return quantile(0.5); }
double Timing::spread() const { return (quantile(0.75) - quantile(0.25)) / (2 * median()); }

double time_ms(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::vector<Timing> interleaved(const std::vector<std::function<void()>>& runs, double seconds) {
  std::vector<Timing> timings(runs.size());
  for (const auto& run : runs) run();
  double spent = 0;
  for (int round = 0; round < 200 && (round < 5 || spent < seconds * 1000); ++round)
    for (std::size_t n = 0; n < runs.size(); ++n) {
      timings[n].ms.push_back(time_ms(runs[n]));
      spent += timings[n].ms.back();
    }
  return timings;
}

}  // namespace weft::bench
