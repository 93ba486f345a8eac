// Asking the solver for a cheaper schedule of several assignments at once.
#pragma once

#include "engine/plan/estimate/joins.h"
#include "engine/plan/prove/prove.h"
#include "engine/plan/search/joint_parts.h"

namespace weft {

struct JointProof {
  std::optional<std::vector<Plan>> cheaper;  ///< legal, the cheapest that was found: a plan per assignment
  double ns = 0;                             ///< of these, as judged
  bool proven = true;  ///< nothing cheaper is left: no nests of any assignment, layouts of results, shared copies
  SolverReport report;
};

/// One problem for the solver: the nests of every assignment (trees, orders of statements, loops, fusions, conversions),
/// one layout for each result that later assignments read, a copy of an operand paid once whichever assignments read it,
/// and one memory limit over all of it (0: none). `below_ns` is infinite where no schedule is
/// known; `counted` numbers the joins of `options`. Nests up to `kept` times dearer than the best are left to the solver. Unsupported error where Z3 cannot be
/// loaded. A function of its arguments.
Expected<JointProof> prove_jointly(const Problem& problem, const std::vector<Occurrence>& counted,
                                   const ProofRequest& request, const JointJudge& judge);

}  // namespace weft
