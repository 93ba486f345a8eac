// Which loops sum rows of vectors in several sets, so that additions need not wait for each other.
#pragma once

#include <vector>

#include "engine/lower/lower.h"

namespace weft {

/// Marks them @unroll(n), by the facts and the mean number of entries of a fiber, by tensor of the schedule and level (0 or missing: not
/// known): each set is cleared before a fiber and added up behind it, which pays where one row is short and fibers are long.
void mark_independent_sums(LoweredNest& nest, const std::vector<std::vector<double>>& means);

}  // namespace weft
