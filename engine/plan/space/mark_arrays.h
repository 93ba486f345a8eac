// Mark arrays: fibers of operands copied, inside the loops that fix their outer levels, into a workspace that knows its
// entries, so that the loops below find a coordinate at once instead of searching or merging for it. Gustavson's mark
// array ("Two fast algorithms for sparse matrices", TOMS 1978) as a decision of the schedule: a statement with one factor,
// m[i,j] += M[i,j], whose target is an intermediate.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/plan/schedule/statements.h"

namespace weft {

/// The same with one more step: factor `factor` of `step` is copied right before it. Nothing
/// where there is nothing to look up: the factor is no sparse operand, has fewer than two modes or a diagonal, the result
/// shares its positions, or no other sparse factor of the step has an index of it.
std::optional<Contractions> with_mark_array(const Contractions& contractions, std::size_t step, std::size_t factor);

/// Whether every copy of a schedule with loops is worth one: it shares loops with its reader, for in a nest of its own it would be a
/// conversion, and coordinates are looked up in it, for one that drives where the operand could saves nothing.
bool marks_are_looked_up(const Schedule& schedule);

}  // namespace weft
