// Entries stored at places that their level coordinates tell: dense levels around at most one compressed one, such as
//
//   (i,j) -> (i:d, j-i:d(-4..5))      a band: the place is 9 * i + (j-i+4)
//   (i,j) -> (j-i:s, i:d)             diagonals: which there are is marked, counted, and the place is extent * number + i
//   (i,j) -> (i/64:d, j-i:s, i%64:d)  diagonals of 64 rows each: the same below every parent, whose entries stand together
//
// Nothing is sorted but the coordinates of the compressed level.
#pragma once

#include <optional>
#include <string_view>

#include "weft/layout.h"
#include "weft/tensor.h"

namespace weft {

/// Kinds of levels that in_computed_places() knows; hashed ones and bitmaps count as the compressed ones they are made from.
bool have_computed_places(const Format& levels);

/// Distinct entries by level, in any order, as a tensor in `levels`, a format with such levels, one mode each. The coordinates of the
/// compressed level stand in `order`: unordered ones as the entries have them first. Nothing, and the entries stay as they are, where
/// there are many parents that entries do not come by, or too many coordinates to be marked.
Expected<std::optional<Tensor>> in_computed_places(const Coordinates& entries, const Format& levels, LevelOrder order,
                                                   const Resources& resources, std::string_view name);

}  // namespace weft
