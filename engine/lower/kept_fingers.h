// Fingers kept above loops further out: levels of operands that are looked up at a sum over several loops, j = 4*J + c, are followed over
// all of them where the sum never falls (engine/loop/finger_home.h), not anew in each run of the innermost.
#pragma once

#include "engine/lower/lower.h"

namespace weft {

/// With facts about the extents that this rests on. `means`: entries of a fiber by tensor of the schedule and level, 0 or missing: not
/// known; of few entries, which are all compared at once, a search is cheaper.
void keep_fingers(LoweredNest& nest, const Network& network, const std::vector<std::vector<double>>& means);

}  // namespace weft
