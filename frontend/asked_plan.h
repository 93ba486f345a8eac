// What the options of a request ask of the planner, name by name against the tensors of its network.
#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/plan/problem.h"
#include "frontend/named_operands.h"
#include "weft/session.h"

namespace weft {

struct AskedPlan {
  PlanOptions options;                     ///< without what the engine says: machine, limits, cancellation
  std::map<std::string, bool> pinned = {};  ///< operands whose layouts are
  std::set<std::string> vouched_for = {};   ///< operands that are said to be finite
};

/// Results of the network get the scalar types that formats say, or else that of what they are computed from. Input error that names the
/// option, and the tensor: names that are no operand, or no result, formats of another order, options that contradict each other.
Expected<AskedPlan> asked_plan(Network& network, const EvaluateOptions& options, const NamedFacts& operands);

}  // namespace weft
