#include "engine/plan/search/given.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/widths.h"

namespace weft {

Error too_large(const Cost& cost, std::uint64_t limit, const std::string& why) {
  std::string demands;
  std::vector<MemoryDemand> sorted = cost.memory;
  std::erase_if(sorted, &MemoryDemand::grows);  // which was not compared with the limit
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const MemoryDemand& left, const MemoryDemand& right) { return left.bytes > right.bytes; });
  for (const MemoryDemand& demand : sorted) {
    if (demands.empty() || demand.bytes > limit / 20) {
      demands += fmt::format("{}{} {} bytes", demands.empty() ? "" : ", ", demand.name, demand.bytes);
    }
  }
  const bool result = !sorted.empty() && sorted.front().name.starts_with("result");
  const char* advice = result ? "request a sparse format for the result, or raise the limit"
                              : "raise the memory limit, or contract in another order: give a tree";
  return Error{.kind = ErrorKind::resource,
               .message = fmt::format("the smallest plan that was found needs {} bytes but {} are available ({}{}{}): {}",
                                      cost.announced_bytes, limit, demands, why.empty() ? "" : "; ", why, advice),
               .code = ErrorCode::memory_limit};
}

Expected<Plan> plan_given(const Schedule& given, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  // It may have been made for other extents, or by somebody who leaves widths to weft.
  const Schedule schedule = with_widths(given, scheduled_network(given, network), operands);
  if (auto legal = check(schedule, problem); !legal) return std::unexpected(legal.error());
  Plan plan;
  plan.schedule = schedule;
  plan.cost = cost(schedule, problem);
  plan.producer = "user";
  plan.optimal = "false";
  plan.candidates = 1;
  if (plan.cost.announced_bytes > usable_memory(options)) {
    return std::unexpected(too_large(plan.cost, usable_memory(options)));
  }
  return plan;
}

}  // namespace weft
