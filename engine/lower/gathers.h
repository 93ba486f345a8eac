// Which sums of one fiber go a vector of entries at a time.
#pragma once

#include <vector>

#include "engine/lower/nest.h"

namespace weft {

/// Mean number of entries of the fibers of a level, empty ones left out, by tensor of the schedule and level; 0: not known.
using FiberMeans = std::vector<std::vector<double>>;

/// Marks the statements whose innermost loop is driven by the last level of one operand and sums products with elements of vectors into
/// what the loop does not index: y(i) = M(i,j) * x(j). Only where fibers are long enough to fill a vector, and where a vector does not
/// stay in the second cache: there one element after the other is faster.
Nest with_gathers(Nest nest, const Network& network, const FiberMeans& means);

}  // namespace weft
