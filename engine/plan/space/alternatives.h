// Alternatives: contractions and the paths to their operands, chosen around loops and fusion.
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

struct AlternativeChoice {
  std::vector<Alternative> alternatives;
  bool complete = true;  ///< there were no more than `most`, and the trees were all
};

/// Every tree, depth-first order of steps, set of converted accesses and choice of dense levels.
AlternativeChoice all_alternatives(const Problem& problem, std::size_t most);

}  // namespace weft
