// plan(): from a problem to the cheapest legal schedule known; and a bound for all of its plans, before any is looked for.
#pragma once

#include <vector>

#include "engine/plan/explain/explanation.h"
#include "engine/plan/search/planned.h"

namespace weft {

/// The cheapest legal schedule of the producers (search over all trees, Z3, baseline). A function of its arguments alone, but for physical
/// memory, which bounds the limit. Errors: `cancelled` by PlanOptions::cancelled_by; `resource` where no schedule fits into memory, with
/// the demand by name and advice; `unsupported` for networks that cannot be planned, with assignment and index.
Expected<Plan> plan(const Problem& problem);

/// The best schedule that stores every intermediate between separate nests (no fusion): what unfused libraries do. A
/// schedule without any intermediate only where the trees allow no other.
Expected<Plan> plan_unfused(const Problem& problem);

/// Whether a price tells what may become of a schedule: at most one operand of one assignment is sparse. Else joins are counted, and
/// operands are opened and marked, upon schedules that took longer before.
bool is_priced_at_once(const Problem& problem);

/// Nanoseconds that every plan takes: the least bound of a tree (tree_bound.h). With `y(i) = A(i,j) * x(j)`, the entries of A by the body
/// that is run for each, on all threads. 0 where trees are not all known, or prices depend on joins that are not counted yet.
double bound_ns(const Problem& problem);

}  // namespace weft
