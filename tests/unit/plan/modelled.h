// A problem, the contractions of a tree, and their cost model with layouts kept.
#pragma once

#include <utility>
#include <vector>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/space/trees.h"
#include "unit/plan/networks.h"

namespace weft::plan_test {

struct Modelled {
  OwnedProblem problem;
  Contractions contractions;
  Modelled(OwnedProblem given, const ContractionTree& tree) : problem(std::move(given)) {
    contractions = contractions_of(problem.network, tree, step_orders(tree, 1).front(), problem.operands, problem.options);
  }
  /// Refers to this object.
  CostModel model() const {
    return CostModel(contractions, problem);
  }
};

}  // namespace weft::plan_test
