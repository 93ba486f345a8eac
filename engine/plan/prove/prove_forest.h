// What the solver makes of the plans of several assignments.
#pragma once

#include "engine/plan/estimate/joins.h"
#include "engine/plan/prove/prove.h"
#include "engine/plan/search/forest_search.h"

namespace weft {

/// Where memory binds, what one assignment converts or stores takes memory from the others: the solver is asked about all
/// of them at once, and, if a proof is wanted, about the cheapest attempt whatever its memory is. Attempts get what it finds,
/// and what it proves.
void prove_forest(ForestSearch& forest);

/// prove() with every way of each assignment (trees, orders of statements, conversions) in every layout of what lies between
/// them. `counted` numbers the joins of the options.
Proof prove_assignments(const Problem& problem, const std::vector<Occurrence>& counted, const ProofRequest& request,
                        const ProofJudge& judge);

}  // namespace weft
