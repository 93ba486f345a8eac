// Planning with joins counted, as far as the choice depends on them.
#pragma once

#include <functional>
#include <vector>

#include "engine/plan/estimate/count_joins.h"
#include "engine/plan/search/planned.h"

namespace weft {

/// Counts entries of results whose formats are to be chosen, where independence may be wrong about them. Then plans,
/// counts the joins that the chosen schedule and the runner-up depend on, and plans again with what was counted, until the
/// choice depends on nothing that was not counted, or a few times. Of all these plans it is the cheapest, priced with what
/// was counted. `options.entries` and `options.joins` hold the counts afterwards, quantised: the plan is a function of them
/// and of what else `planner` is given. Independent networks are planned once.
Expected<Plan> plan_counted(const Network& network, const std::vector<OperandFacts>& operands, PlanOptions& options,
                            JoinCounter& counter, const std::function<Expected<Plan>(const PlanOptions&)>& planner);

/// Counts all that the cost of a given schedule depends on: it is then that of plan_counted() for the same schedule.
Expected<void> count_joins_of(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands,
                              PlanOptions& options, JoinCounter& counter);

}  // namespace weft
