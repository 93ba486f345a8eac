// Schedules with mark arrays, whatever they take: what the planner chooses among, for comparisons of results.
#pragma once

#include <vector>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// The cheapest loops of every tree with every choice of mark arrays (one or more intermediates, three at most), whatever they take; of a
/// large network the first some hundred.
std::vector<Schedule> mark_array_schedules(const Problem& problem);

}  // namespace weft
