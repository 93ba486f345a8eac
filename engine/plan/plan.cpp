#include "engine/plan/plan.h"

namespace weft {

Expected<Plan> plan_given(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                          const PlanOptions& options) {
  if (auto legal = check(schedule, network, operands, options); !legal) return std::unexpected(legal.error());
  Plan plan;
  plan.schedule = schedule;
  plan.producer = "user";
  plan.optimal = "false";
  plan.candidates = 1;
  return plan;
}

Expected<Plan> plan(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  auto given = plan_given(baseline(network, operands, options), network, operands, options);
  if (given) given->producer = "baseline";
  return given;
}

}  // namespace weft
