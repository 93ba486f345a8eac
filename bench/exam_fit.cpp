#include "bench/exam_fit.h"

#include <algorithm>
#include <cmath>

#include "engine/plan/cost/fit_machine.h"

namespace weft::bench {
namespace {

constexpr double slowest_used = 20;   // times the fastest; beyond, only that it is slow matters
constexpr double choice_weight = 1.5;
constexpr double sharpness = 12;      // of the soft choice

constexpr std::string_view fitted_names[] = {
    "stream_l1",      "stream_l2",       "gather_l1",    "gather_l2",   "gather_l3",   "range_step",    "drive_step",
    "merge_step",     "search_base",     "search_halving", "gallop_base", "gallop_doubling", "table_lookup", "loop_entry",
    "fiber_entry",    "branch_miss",     "scalar_body",  "scalar_factor", "vector_flop", "vector_sum",    "reset_entry"};

double misfit_of(const FitCase& one, const Machine& machine) {
  PlanOptions options = one.trials.options();
  const double threads = options.machine.threads;
  options.machine = machine;
  options.machine.threads = threads;
  const double best = *std::ranges::min_element(one.ms);
  double error = 0;
  double weights = 0;
  std::vector<double> costs;
  for (std::size_t n = 0; n < one.schedules.size(); ++n) {
    costs.push_back(std::log(cost(one.schedules[n], weft::Problem{one.trials.network(), one.trials.facts(), options}).ns * 1e-6));
    if (one.ms[n] > slowest_used * best) continue;
    const double weight = best / one.ms[n];
    const double off = costs.back() - std::log(one.ms[n]);
    error += weight * std::min(off * off, 2.0);
    weights += weight;
  }
  const double cheapest = *std::ranges::min_element(costs);
  double chosen = 0;
  double shares = 0;
  for (std::size_t n = 0; n < costs.size(); ++n) {
    const double share = std::exp(-sharpness * (costs[n] - cheapest));
    chosen += share * std::min(std::log(one.ms[n] / best), 3.0);
    shares += share;
  }
  return error / weights + choice_weight * chosen / shares;
}

}  // namespace

double misfit(const std::vector<FitCase>& cases, const Machine& machine) {
  double sum = 0;
  for (const FitCase& one : cases) sum += misfit_of(one, machine);
  return sum / static_cast<double>(cases.size());
}

Machine fitted(const std::vector<FitCase>& cases, const Machine& start) {
  return fit_machine(start, fitted_names, [&](const Machine& machine) { return misfit(cases, machine); });
}

}  // namespace weft::bench
