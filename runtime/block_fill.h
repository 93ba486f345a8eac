// Block fill: how full the blocks of a matrix are, by their size, pieces of its diagonals, and slices of its rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft {

enum class Pieces : std::uint8_t {
  blocks,
  strips,  ///< of diagonals: each row a column further than the one before
  slices,  ///< of rows side by side, each with places for the longest of them, a column for each place
};

struct BlockFill {
  std::uint64_t rows = 1;     ///< coordinates of mode 0 that a block spans
  std::uint64_t columns = 1;  ///< of mode 1
  Pieces pieces = Pieces::blocks;
  double fill = 0;            ///< entries over the places of the blocks that hold any, those beyond an extent included

  /// "bcsr(3,3)", "dia(8)", "sell(8)"
  std::string layout() const;
  /// What the matrix takes stored so: values, a coordinate of 32 bits for each block or place, and ends of rows of blocks.
  double bytes(const Tensor& matrix) const;
  /// In words: "blocks of 3 by 3", "diagonals in strips of 8", "slices of 8 rows".
  std::string words() const;
};

/// Of 1, 2, 3, 4, 6 and 8 rows by as many columns, but for 1 by 1, and, where rows are the outer level, of 8, 16 and 64 places of a
/// diagonal and of slices of 8 rows; from bands of 192 coordinates of the outer level, spread over the matrix, with some 65536 entries, or
/// from all where it has no more. Nothing for tensors that are no matrices, have no entries, or whose levels are not in order. Resource
/// error.
Expected<std::vector<BlockFill>> block_fills(const Tensor& tensor, const Resources& resources);

/// Of these the few that take least memory, in this order, if not much more than the matrix takes now; their fill is counted in all of
/// it, in a pass for each of the eight that are best by the bands.
Expected<std::vector<BlockFill>> smallest_blocks(const Tensor& tensor, const Resources& resources);

}  // namespace weft
