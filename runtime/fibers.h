// Lengths of the fibers of a level.
#pragma once

#include "weft/statistics.h"

namespace weft {

/// Distinct children per position above. In a nonunique chain the positions above are the runs of equal coordinates, so
/// that coordinate lists and trees of the same entries have the same figures.
FiberLengths fiber_lengths(const Tensor& tensor, std::size_t level, const Threads& threads);

}  // namespace weft
