// Figures of operands over exposed levels, where there are figures of the entries alone and no tensor to count in.
//
//   B of 600 x 600 with 9,000 entries, in the layout (i,j) -> (i/3:d, j/3:s, i%3:d, j%3:d): 1,000 blocks of 9 places
//
// How entries fall into blocks no count of rows and columns tells. A host that asks for blocks has data in blocks: they are taken to be as
// full as the figures allow, d(i/3, j/3) = max(d(i,j) / 9, d(i) / 3, d(j) / 3).
#pragma once

#include <optional>

#include "engine/network/exposure.h"
#include "weft/statistics.h"

namespace weft {

/// Nothing where levels are no parts of modes (slots, diagonals, starts): these have extents that only data tell.
std::optional<Statistics> figures_over_levels(const Exposure& exposure, TensorId operand, const Statistics& known);

/// The same figures of a tensor that is stored otherwise: distinct counts of all sets of modes, or of those that levels bind.
Statistics told_in(const Statistics& known, Format format);

}  // namespace weft
