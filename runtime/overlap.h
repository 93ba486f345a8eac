// Whether memory of the host is lent twice.
#pragma once

#include <cstdint>
#include <span>

#include "weft/tensor.h"

namespace weft {

/// Whether arrays of two tensors may have a byte in common. Dense tensors with strides, parts of one larger array, have
/// none where an array's distance of neighbours tells their elements apart: other columns of one matrix, other blocks of
/// one array. Where that cannot be seen they overlap.
bool may_overlap(const Tensor& a, const Tensor& b);

bool may_overlap(const Tensor& tensor, const Buffer& memory);

/// Whether elements of a dense tensor certainly lie at one place: a mode of several coordinates without a stride, or two modes some steps
/// along which lead to the same element. Of 3x2 with strides 1 and 2, two rows on and one column on. Steps of three modes may still meet.
bool repeats_elements(std::span<const std::uint64_t> extents, std::span<const std::int64_t> strides);
bool repeats_elements(const Tensor& tensor);

}  // namespace weft
