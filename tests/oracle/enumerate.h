// Every schedule of a tiny network: what a search is compared with.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// Every schedule of a tiny network (at most `limit`): all trees, statement orders, loop orders, fusion depths.
std::vector<Schedule> enumerate_schedules(const Problem& problem, std::size_t limit);

}  // namespace weft
