// Alternative: contractions and the paths to their operands, before loops and fusion.
#pragma once

#include <set>
#include <vector>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/schedule/contractions.h"

namespace weft {

struct Alternative {
  Contractions contractions;
  AccessPaths paths;  ///< per tensor
};

/// One conversion per tensor that has a converted access: the least that an alternative pays, divided by calls.
double least_conversion_ns(const Alternative& alternative, const std::vector<OperandFacts>& operands,
                           const PlanOptions& options, const std::set<TensorId>& without = {});

}  // namespace weft
