// The definition, evaluated entry by entry: what every measured kernel is checked against first.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "weft/tensor.h"

namespace weft::bench {

/// Checks `result` (dense, row-major) against the product of the sparse operand T, whose indices include the first of
/// the result, and dense factors, in some 16 slices of the result's first mode. Values must be integers below 2^53, so
/// the comparison is exact. Internal error naming the first coordinate that differs.
Expected<void> check_slices(const std::string& expression, const std::map<std::string, Tensor>& operands,
                            const Tensor& result, const Resources& resources);

/// Internal error naming the first element that differs.
Expected<void> check_equal(const Tensor& result, const double* expected, const std::string& what);

}  // namespace weft::bench
