// plan(): from a problem to the cheapest legal schedule known.
#pragma once

#include <vector>

#include "engine/plan/explain/explanation.h"
#include "engine/plan/search/given.h"

namespace weft {

/// The cheapest legal schedule of the producers (search over all trees, Z3, baseline). A function of its arguments alone, but for physical
/// memory, which bounds the limit. Errors: `cancelled` by PlanOptions::cancelled_by; `resource` where no schedule fits into memory, with
/// the demand by name and advice; `unsupported` for networks that cannot be planned, with assignment and index.
Expected<Plan> plan(const Problem& problem);

/// The best schedule that stores every intermediate between separate nests (no fusion): what unfused libraries do. A
/// schedule without any intermediate only where the trees allow no other.
Expected<Plan> plan_unfused(const Problem& problem);

}  // namespace weft
