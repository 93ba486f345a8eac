// Which operands have to be finite for a plan to be legal and its code to be the code it is.
//
// Whether NaN or Inf are stored costs a pass over all values, and hardly a plan depends on it. So plans are made as for finite
// values, and only the operands are looked at whose finiteness the plan that was chosen rests on; where one of these is not
// finite, another is made with the facts of all.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/search/planned.h"

namespace weft {

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

/// Nanoseconds that a run takes to look through those of the operands that change.
double looking_ns(const std::set<TensorId>& needed, const std::vector<OperandFacts>& operands, const Machine& machine);
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
