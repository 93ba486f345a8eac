// Schedules drawn at random: what the planner's choices are compared with where there are too many to enumerate.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// At most `count` different legal schedules: a random tree (promising ones more often), order of statements, partial sums, copies of
/// operands' fibers for lookups, loop orders, fusion depths, choice of kept and converted operands, dense or compressed
/// levels, and ways to meet; roots and vector loops follow as for every schedule. A function of its arguments: the same seed gives the same
/// schedules, and more of them begin with the same ones. Empty for networks that cannot be planned.
std::vector<Schedule> sample_schedules(const Problem& problem, std::size_t count, std::uint64_t seed);

}  // namespace weft
