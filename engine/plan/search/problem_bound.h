// A bound for all plans of a problem, before any is looked for.
#pragma once

#include "engine/plan/problem.h"

namespace weft {

/// Whether a price tells what may become of a schedule: at most one operand of one assignment is sparse. Else joins are counted, and
/// operands are opened and marked, upon schedules that took longer before.
bool is_priced_at_once(const Problem& problem);

/// Nanoseconds that every plan takes: the least bound of a tree (tree_bound.h). With `y(i) = A(i,j) * x(j)`, the entries of A by the body
/// that is run for each, on all threads. 0 where trees are not all known, or prices depend on joins that are not counted yet.
double bound_ns(const Problem& problem);

}  // namespace weft
