// Every schedule of a tiny network: what a search is compared with.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// Statements with every order of their loops and every way to fuse them, legal or not, until `visit` says no.
void for_each_nest(Schedule statements, const std::function<bool(const Schedule&)>& visit);

/// Every schedule of a tiny network (at most `limit`): all trees, statement orders, loop orders, fusion depths.
std::vector<Schedule> enumerate_schedules(const Problem& problem, std::size_t limit);

}  // namespace weft
