// What the solver makes of the plans of several assignments.
#pragma once

#include "engine/plan/search/forest_search.h"

namespace weft {

/// Where memory binds, what one assignment converts or stores takes memory from the others: the solver is asked about all
/// of them at once, and, if a proof is wanted, about the cheapest attempt whatever its memory is. Attempts get what it finds,
/// and what it proves.
void prove_forest(ForestSearch& forest);

}  // namespace weft
