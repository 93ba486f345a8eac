// Slices as an entry sees them: the one that an entry lies in has more entries than slices have in the mean.
#pragma once

#include "weft/statistics.h"

namespace weft {

/// Distinct coordinates of one level in the slice of an entry, all entries with its coordinate of another level, in the mean over
/// entries: of two slices, one of 1 entry and one of 99 with 99 coordinates, 98.02, where the mean over slices is 50. Estimated by
/// sketches, from one in 32 of the coordinates in the slices of 256 entries, one of each 256th of them. Both levels are above the
/// trailing dense ones.
double distinct_in_slices(const Tensor& tensor, std::size_t of_slices, std::size_t counted, const Threads& threads);

}  // namespace weft
