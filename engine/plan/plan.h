// plan(): from a problem to the cheapest legal schedule known.
#pragma once

#include <vector>

#include "engine/plan/explain/explain.h"
#include "engine/plan/search/given.h"

namespace weft {

/// The cheapest legal schedule of the producers (dynamic program over all trees, baseline). A function of its arguments
/// alone, except that physical memory bounds what the limit allows. Cancelled, by PlanOptions::cancelled_by, or resource error where that leaves no schedule, naming
/// the demand and advising.
Expected<Plan> plan(const Problem& problem);

/// The best schedule that stores every intermediate between separate nests (no fusion): what unfused libraries do. A
/// schedule without any intermediate only where the trees allow no other.
Expected<Plan> plan_unfused(const Problem& problem);

}  // namespace weft
