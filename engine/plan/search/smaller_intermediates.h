// Where memory binds: the cheapest schedules whose intermediates are each smaller than what there is left for.
#pragma once

#include "engine/plan/search/search.h"

namespace weft {

/// Adds schedules that fit where the cheapest of `found` does not. The interval program cannot see how much several
/// intermediates take together, but it can bound each of them: the bound is halved until what it finds cheapest fits.
/// So a chain keeps rows of its intermediates inside shared loops, which only the solver would find otherwise.
void add_smaller_intermediates(SearchResult& found, const Problem& problem, SearchScope scope = {});

}  // namespace weft
