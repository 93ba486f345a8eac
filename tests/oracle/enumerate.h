// Every schedule of a tiny network: what a search is compared with.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "engine/plan/schedule/statements.h"

namespace weft {

/// Every order of the loops of contractions and every way to fuse them, legal or not, until `visit` says no.
void for_each_nest(const Contractions& contractions, const std::function<bool(const LoopNests&)>& visit);

/// Every schedule of a tiny network (at most `limit`): all trees, statement orders, loop orders, fusion depths.
std::vector<Schedule> enumerate_schedules(const Problem& problem, std::size_t limit);

}  // namespace weft
