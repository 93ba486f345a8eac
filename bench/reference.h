// The definition, evaluated entry by entry: what every measured kernel is checked against first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/tensor.h"

namespace weft::bench {

using Tuple = std::vector<std::uint32_t>;
struct TupleHash {
  std::size_t operator()(const Tuple& tuple) const;
};

/// What the result is in some 16 slices of its first mode: every coordinate that some product of stored entries reaches.
struct Slices {
  std::uint64_t step = 1;  ///< between the slices
  std::unordered_map<Tuple, double, TupleHash> expected;
};

/// Of an expression with one assignment. Values must be integers below 2^53, so that sums are exact in any order.
Expected<Slices> evaluate_slices(const std::string& expression, const std::map<std::string, Tensor>& operands,
                                 const Resources& resources);

/// The result, in any format, must store what is expected and nothing else but zeros below a dense last level. Internal
/// error naming the first coordinate that differs.
Expected<void> check_slices(const Slices& slices, const Tensor& result, const Resources& resources);

/// Internal error saying where two tensors differ, structure and values; formats may differ.
Expected<void> check_equal(const Tensor& result, const Tensor& expected, const std::string& what,
                           const Resources& resources);

}  // namespace weft::bench
