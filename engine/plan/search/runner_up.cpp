#include "engine/plan/search/runner_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/plan/schedule/schedule_text.h"

namespace weft {
namespace {

std::string first_difference(const Schedule& winner, const Schedule& loser, const Network& network) {
  const auto [left, right] = first_different_lines(winner, loser, network);
  if (left.empty() || right.empty()) return {};
  const std::size_t begin = right.find_first_not_of(' ');
  return right.substr(begin, right.size() - begin - 1);
}

}  // namespace

std::string why_it_lost(const Plan& plan, const Network& network) {
  const Cost& loser = *plan.runner_up_cost;
  const std::string what = first_difference(plan.schedule, *plan.runner_up, network);
  const auto steps = [](const Cost& cost) {
    double sum = 0;
    for (const LoopCost& loop : cost.loops) sum += loop.steps;
    return sum;
  };
  const auto work = [](const Cost& cost) {
    double sum = 0;
    for (const LoopCost& loop : cost.loops) sum += loop.ns;
    return sum;
  };
  const auto parallel_nests = [](const Schedule& schedule) {
    return std::ranges::count_if(schedule.roots, [](RootReduction root) { return root != RootReduction::serial; });
  };
  constexpr double notable = 1.005;  // three digits tell it from nothing
  const double ratio = plan.cost.ns > 0 ? loser.ns / plan.cost.ns : 1;
  const std::string longer = ratio < notable ? "hardly more time" : fmt::format("{:.3g} times the time", ratio);
  if (loser.conversion_ns > plan.cost.conversion_ns) {
    return fmt::format("{}: its conversions do not pay ({})", longer, what);
  }
  if (steps(loser) > steps(plan.cost) * notable) {
    return fmt::format("{}: {:.3g} against {:.3g} loop and merge steps ({})", longer, steps(loser), steps(plan.cost),
                       what);
  }
  const bool works_more = work(loser) > work(plan.cost);
  const bool starts_more = parallel_nests(*plan.runner_up) > parallel_nests(plan.schedule);
  return fmt::format("{}: {} ({})", longer,
                     works_more    ? "its loops move more data, or through slower caches"
                     : starts_more ? "starting its threads takes longer than they save"
                                   : "it leaves threads without work",
                     what);
}

}  // namespace weft
