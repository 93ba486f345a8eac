// Adjacent coordinates: fibers of a last level that have no gaps, so that code reads where one begins and nothing else of it.
#pragma once

#include <cstdint>

#include "weft/tensor.h"

namespace weft {

/// Whether the coordinates of each fiber of the last level, which is compressed, follow each other.
enum class Adjacency : std::uint8_t {
  none,
  from_first,  ///< from the first one on
  from_zero,   ///< and that is 0
};

/// How they do: of levels of a layout as who made them says (PatternFacts::adjacent); of rows as they are given, triangles and
/// bands among them, as the ends of each fiber say, looked at once for a pattern. Fibers of less than four entries in the mean
/// are `none`: a vector for each takes as long. The pattern must be valid. Thread safe.
Adjacency adjacency(const Tensor& tensor);

}  // namespace weft
