// Arrays that tensors share: the result of 2 * A has the coordinates of A, and some conversions keep their source's arrays.
#pragma once

#include <vector>

#include "python/_weft/handles.h"

namespace weft_python {

/// Where the arrays of a tensor begin: those of its levels, and the values.
struct ArraysOf {
  explicit ArraysOf(const weft_tensor* tensor);
  /// Whether one of the arrays of levels, or any, is an array of the other's.
  bool share_levels(const ArraysOf& other) const;
  bool share(const ArraysOf& other) const;

  std::vector<const void*> levels;
  const void* values = nullptr;
};

}  // namespace weft_python
