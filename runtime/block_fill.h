// Block fill: how full the blocks of a matrix are, by their size.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/tensor.h"

namespace weft {

struct BlockFill {
  std::uint64_t rows = 1;     ///< coordinates of mode 0 that a block spans
  std::uint64_t columns = 1;  ///< of mode 1
  double fill = 0;            ///< entries over the places of the blocks that hold any, those beyond an extent included
};

/// Of 1, 2, 3, 4, 6 and 8 rows by as many columns, but for 1 by 1; from bands of 24 coordinates of the outer level, spread over the
/// matrix, with some 65536 entries, or from all where it has no more. Nothing for tensors that are no matrices, that have no entries,
/// or whose levels are not in order. Resource error.
Expected<std::vector<BlockFill>> block_fills(const Tensor& tensor, const Resources& resources);

}  // namespace weft
