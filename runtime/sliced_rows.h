// Slices of rows: some rows side by side, as many places for each as the longest of them has entries.
//
//   (i,j) -> (i/8:d, *:v, i%8:d, j:q)   sell(8): place p of row 8*I + r stands at pos[I] + p, lane r
//
// Compressed rows become slices row by row, and slices rows, without a sort.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/layout_entries.h"
#include "weft/tensor.h"

namespace weft {

/// A layout (row/height:d, *:v, row%height:d, column:q).
struct SlicedRows {
  std::uint32_t row = 0;  ///< mode
  std::uint32_t column = 1;
  std::uint64_t height = 1;
};
std::optional<SlicedRows> sliced_rows(const Layout& layout);

/// From compressed rows (rows_format of row_groups.h), sorted and without duplicates, to a format with that layout, which is buildable; no
/// extent is 0. Places that a row has no entry for hold zeros at the least columns that it leaves, those of rows beyond the last the
/// columns of the row before.
Expected<Tensor> slices_of_rows(const Tensor& rows, const SlicedRows& slices, const Format& format, const Resources& resources,
                                std::string_view name);

/// From a verified tensor with that layout to compressed rows. Places of rows beyond the last are none.
Expected<Tensor> rows_of_slices(const Tensor& tensor, const SlicedRows& slices, Zeros zeros, const Resources& resources,
                                std::string_view name);

}  // namespace weft
