#include "engine/plan/cost/fit_machine.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace weft {
namespace {

constexpr double drift_weight = 0.01;

double rounded_constant(double value) {
  const double scale = std::pow(10.0, 2 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

}  // namespace

Machine fit_machine(const Machine& start, std::span<const std::string_view> names,
                    const std::function<double(const Machine&)>& misfit) {
  const auto judged = [&](const Machine& machine) {
    double drift = 0;
    for (const MachineConstant& constant : machine_constants()) {
      Machine now = machine;
      Machine before = start;
      const double ratio = std::log(constant.of(now) / constant.of(before));
      drift += ratio * ratio;
    }
    return misfit(machine) + drift_weight * drift;
  };
  std::vector<MachineConstant> fitted;
  std::ranges::copy_if(machine_constants(), std::back_inserter(fitted),
                       [&](const MachineConstant& constant) { return std::ranges::find(names, constant.name) != names.end(); });
  Machine best = start;
  double least = judged(best);
  for (double step = 1.5; step > 1.05; step = 1 + (step - 1) * 0.6) {
    for (const MachineConstant& constant : fitted) {
      for (const double factor : {step, 1 / step}) {
        for (int times = 0; times < 3; ++times) {
          Machine tried = best;
          constant.of(tried) *= factor;
          const double value = judged(tried);
          if (value >= least) break;
          least = value;
          best = tried;
        }
      }
    }
  }
  for (const MachineConstant& constant : fitted) constant.of(best) = rounded_constant(constant.of(best));
  return best;
}

}  // namespace weft
