// The baseline of what a later assignment reads beside NaN or Inf: absent stays absent all the way to the result.
#pragma once

#include "engine/plan/plan.h"

namespace weft {

/// The baseline of one assignment with every intermediate in compressed levels, or a single entry: nothing is accumulated into the
/// result where a factor is absent. Its own format is for the options to ask for.
Schedule baseline_with_known_entries(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options);

}  // namespace weft
