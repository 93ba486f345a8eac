// The compressed rows of a matrix from its compressed columns, and columns from rows.
#pragma once

#include <optional>

#include "weft/memory.h"
#include "weft/tensor.h"

namespace weft {

/// A matrix whose last level is compressed, by its other mode, dense above compressed: ds or ss to ds:1,0. Columns are counted, then each
/// entry is written where it stays (Gustavson, "Two fast algorithms for sparse matrices: multiplication and permuted transposition", ACM
/// TOMS 1978): nothing is listed or sorted. Nothing, where formats are others, coordinates or positions are wider than 32 bits, or there
/// are more columns than entries. Cancelled before each of the two passes. Errors name `name`.
Expected<std::optional<Tensor>> transposed_rows(const Tensor& tensor, const Format& format, const Resources& resources,
                                                std::string_view name);

}  // namespace weft
