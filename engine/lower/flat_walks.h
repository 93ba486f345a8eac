// Which loops over a chain of levels are one loop over its entries (engine/loop/flat_walk.h).
#pragma once

#include <vector>

#include "engine/lower/nest.h"

namespace weft {

/// Mean number of entries with equal coordinates up to a level, by tensor of the schedule and level; 0: not known.
using RunLengths = std::vector<std::vector<double>>;

/// Marks the statements whose loops over the levels of a chain stand directly in each other, from the first level on that has short
/// runs: of one or two entries most of the time is the end of the loop, which the processor cannot foresee. Long runs stay loops of
/// their own: what belongs to their coordinate is done once for each. Before rows are given to registers: inside a walk there are none.
Nest with_flat_walks(Nest nest, const RunLengths& runs);

}  // namespace weft
