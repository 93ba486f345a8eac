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

/// Of the tuples over all modes but one, the share with more than one entry, quantised; 1 where their mean length tells enough: with
/// fewer than 65536 entries, whose ends a processor remembers, where hardly any has company, from 8 entries on, and with more than six
/// modes. In power-law data 0.12 of the fibers, of 1.36 entries in the mean, where of uniform ones 0.29 have. Part of what plans are
/// remembered by.
double share_with_company(const Statistics& exact, std::size_t without);

}  // namespace weft
