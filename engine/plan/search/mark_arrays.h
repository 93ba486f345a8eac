// Lookups: fibers of operands copied, inside the loops that fix their outer levels, into a workspace that knows its
// entries, so that the loops below find a coordinate at once instead of searching or merging for it. Gustavson's mark
// array ("Two fast algorithms for sparse matrices", TOMS 1978) as a decision of the schedule: a statement with one factor,
// m[i,j] += M[i,j], whose target is an intermediate.
#pragma once

#include <optional>
#include <vector>

#include "engine/plan/search/search.h"

namespace weft {

/// The statements (without loops yet) with one more: factor `factor` of `statement` is copied right before it. Nothing
/// where there is nothing to look up: the factor is no sparse operand, has fewer than two modes or a diagonal, the result
/// shares its positions, or no other sparse factor of the statement has an index of it.
std::optional<Schedule> with_mark_array(const Schedule& statements, std::size_t statement, std::size_t factor);

/// The cheapest legal schedule with copies for lookups: of the trees of the best candidates and of the product as a whole,
/// each with one copy, and with further ones as long as they help; loops are decided anew for all, and of what comes near the
/// best the layouts, one by one. With and without partial sums (partial_sums.h). Nothing where none is
/// cheaper than what the search has found, or fits into memory.
std::optional<Candidate> cheapest_mark_arrays(const SearchResult& found, const Problem& problem);

/// For tests: the cheapest loops of every tree with every choice of copies (one or more intermediates, three at most),
/// whatever they take.
std::vector<Schedule> mark_array_schedules(const Problem& problem);

}  // namespace weft
