// Aligned blocks of a matrix: rows in groups, each group's columns in blocks, every place of a block stored.
//
//   (i,j) -> (i/4:d, j/2:s, i%4:d, j%2:d)   blocks of 4 x 2     (i,j) -> (i/3:d, j:s, i%3:d)   groups of three rows
//
// Entries of compressed rows are sorted by rows already: those of a group are merged, block by block, in place of sorting all entries by
// four keys. Backwards each row takes its part of the blocks of its group.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/layout_entries.h"
#include "weft/tensor.h"

namespace weft {

/// A layout (row/height:d, column/width:s, row%height:d, column%width:d); a remainder is missing where its divisor is 1, and they may
/// stand the other way round.
struct AlignedBlocks {
  std::uint32_t row = 0;  ///< mode
  std::uint32_t column = 1;
  std::uint64_t height = 1;
  std::uint64_t width = 1;
  bool columns_first = false;  ///< column%width stands above row%height
};
std::optional<AlignedBlocks> aligned_blocks(const Layout& layout);

/// From compressed rows (rows_format of row_groups.h), sorted and without duplicates, to a format with that layout, which is buildable.
Expected<Tensor> blocks_of_rows(const Tensor& rows, const AlignedBlocks& blocks, const Format& format, const Resources& resources,
                                std::string_view name);

/// From a verified tensor with that layout to compressed rows. Places beyond an extent are none.
Expected<Tensor> rows_of_blocks(const Tensor& tensor, const AlignedBlocks& blocks, Zeros zeros, const Resources& resources,
                                std::string_view name);

}  // namespace weft
