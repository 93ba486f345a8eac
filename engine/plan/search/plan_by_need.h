// Plans made of facts that are dear to find, as far as the choice rests on them: sizes of joins, and which values are finite.
//
// Joins of sparse operands are counted by a pass over their entries; NaN and Inf by one over all values, and hardly a plan depends on them.
// So plans are made as if joins were independent and values finite, only those facts are found that the plan which was chosen rests on, and
// where they are otherwise, another is made.
#pragma once

#include <functional>
#include <set>
#include <string>
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

/// The same operands taken to be finite, but for those that are never looked at, without a look at any value; what they were is
/// kept in `counted`.
std::vector<OperandFacts> assumed_finite(std::vector<OperandFacts> operands);
/// The same operands, each told to be finite or not as its values are; those that are never looked at are not.
std::vector<OperandFacts> as_they_are(std::vector<OperandFacts> operands);

/// Those of the finite operands on which a legal schedule rests: were any one of them not finite, an intermediate that cannot tell
/// absent from zero would be read beside NaN or Inf, or a number that one nest leaves to another would have to tell whether it is
/// there. Facts in programs may need more.
std::set<TensorId> finite_operands_needed(const Schedule& schedule, const Network& network, const std::vector<OperandFacts>& operands);

/// Whether these are finite as they are: looks through the values that were not looked through yet. The answers stay in
/// `counted`, so that later ones agree with them.
bool are_finite(const std::set<TensorId>& needed, std::vector<OperandFacts>& operands);

/// The same operands, of which those named are finite whatever they hold.
std::vector<OperandFacts> vouched_for(std::vector<OperandFacts> operands, const Network& network, const std::set<std::string>& names);

/// The operands from which a tensor of the schedule is computed, itself if it is one.
std::set<TensorId> operands_of(const Schedule& schedule, std::uint32_t tensor);

/// Those of the operands that change and take more than a fiftieth of a run of `ns` to look through.
std::set<TensorId> dear_looks(const std::set<TensorId>& needed, const std::vector<OperandFacts>& operands, double ns,
                              const Machine& machine);
/// The same operands, of which these are never looked at.
std::vector<OperandFacts> without_looks(std::vector<OperandFacts> operands, const std::set<TensorId>& at);

/// The plan that `planner` makes of operands taken to be finite, if it may be had, else of operands as they are. Where looking
/// through what changes is dear, plans that rest on less are made too, and what takes least, looks included, is chosen. `operands`
/// become those that it was made of.
Expected<Plan> plan_by_need(std::vector<OperandFacts>& operands, const Network& network, const Machine& machine,
                            const std::function<Expected<Plan>()>& planner);

}  // namespace weft
