// Tensors as text: dense ones as numpy prints arrays, others as a list of their entries. Never long.
#pragma once

#include <string>

#include "frontend/view.h"
#include "weft/tensor.h"

namespace weft {

/// "[[1. 2.]\n [3. 4.]]", no newline at the end. Beyond a thousand elements only the first and last three of a mode, and
/// lines are wrapped at 75 columns, as numpy does by default. A view without modes is one number.
std::string array_text(const DenseView& view);

/// The entries of a tensor that is not dense, a line each, the first and last ones if there are many: "  (0, 3)  1.0".
/// In the order of the storage. Ends with a newline unless there are none.
std::string entries_text(const Tensor& tensor);

/// Either of both, ending with a newline. A summary with `name` comes first unless it is dense.
std::string tensor_text(const Tensor& tensor, const std::string& name);

}  // namespace weft
