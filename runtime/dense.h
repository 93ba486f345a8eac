// Copies of dense tensors in another layout.
#pragma once

#include <string_view>

#include "weft/tensor.h"

namespace weft {

/// An all-dense tensor (strided or not) in another all-dense format, element by element in parallel.
Expected<Tensor> permuted_dense(const Tensor& tensor, const Format& format, const Resources& resources,
                                std::string_view name);

}  // namespace weft
