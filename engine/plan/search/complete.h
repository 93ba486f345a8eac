// From loops to a schedule: everything that follows once loop orders and fusion depths are chosen.
#pragma once

#include <vector>

#include "engine/plan/cost/cost_model.h"

namespace weft {

/// Gives operands the layouts of their paths, and what is written the levels that its storage has with these loops; marks vector loops,
/// chooses how sparse accesses meet and how roots are shared among threads: the cheapest of each under the model. Contractions have one
/// tensor per occurrence of an operand; equal layouts are merged.
Schedule complete(const Contractions& contractions, const LoopNests& nests, const Network& network, const CostModel& model,
                  const AccessPaths& paths, const std::vector<OperandFacts>& operands);

}  // namespace weft
