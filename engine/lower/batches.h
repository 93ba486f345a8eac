// Which loops add the products of several iterations to their common block together (engine/loop/batch.h).
#pragma once

#include <vector>

#include "engine/lower/lower.h"

namespace weft {

/// Marks them, by the facts and the mean number of entries of a fiber, by tensor of the schedule and level (0 or missing: not known): the
/// rows that wait are a copy and a look more per iteration, which fibers of one or two entries do not pay for.
void mark_batches(LoweredNest& nest, const std::vector<std::vector<double>>& means);

}  // namespace weft
