#include "engine/plan/search/problem_bound.h"

#include <algorithm>

#include "engine/plan/cost/tree_bound.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/search/interval_program.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/space/trees.h"

namespace weft {

bool is_priced_at_once(const Problem& problem) {
  return problem.network.assignments.size() == 1 && !sparse_operands_co_iterate(problem.network, problem.operands);
}

double bound_ns(const Problem& problem) {
  if (!check_plannable(problem) || !is_priced_at_once(problem) || problem.options.objective != Objective::time) return 0;
  const TreeChoice choice = choose_trees(problem);
  if (!choice.complete || choice.trees.empty()) return 0;
  TreeBound bound(problem);
  double least = infinity;
  for (const ContractionTree& tree : choice.trees) least = std::min(least, bound.least_ns(tree, infinity));
  return least;
}

}  // namespace weft
