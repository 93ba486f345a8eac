// Skew of an operand: what its heavy slices hold, where means over slices mislead a price.
#pragma once

#include <cstddef>

#include "weft/statistics.h"

namespace weft {

/// Distinct coordinates of mode `counted` in the slice of `mode` that an entry lies in, in the mean over entries, quantised; 0
/// where means tell enough: with fewer than 65536 coordinates, whose rows some cache holds, or where slices hardly come back to them.
/// In debian_contents a slice of the last mode has 17 coordinates of the one before, that of an entry 174,000. Part of what plans are
/// remembered by.
double distinct_in_heavy_slices(const Statistics& exact, std::size_t mode, std::size_t counted);

}  // namespace weft
