// Loops that nothing drives: they go over all of an index.
#pragma once

#include "engine/network/network.h"
#include "engine/plan/cost/cost.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// Nanoseconds on one thread beside what is predicted, if every loop that nothing drives is reached once. Where 30 entries among 10^12
/// coordinates meet 30 others, none is expected to, and what stands below them takes no time; if they are the same ones, a loop over
/// 3 * 10^9 coordinates below does not end.
double unexpected_ns(const Schedule& schedule, const Cost& cost, const Network& network);

}  // namespace weft
