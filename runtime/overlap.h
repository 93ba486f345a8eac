// Whether memory of the host is lent twice.
#pragma once

#include "weft/tensor.h"

namespace weft {

/// Whether arrays of two tensors may have a byte in common. Dense tensors with strides, parts of one larger array, have
/// none where an array's distance of neighbours tells their elements apart: other columns of one matrix, other blocks of
/// one array. Where that cannot be seen they overlap.
bool may_overlap(const Tensor& a, const Tensor& b);

bool may_overlap(const Tensor& tensor, const Buffer& memory);

/// Whether elements of a dense tensor certainly lie at one place: a mode of several coordinates without a stride.
bool repeats_elements(const Tensor& tensor);

}  // namespace weft
