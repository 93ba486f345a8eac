// Tensors laid out as files hold them, whatever their storage.
#pragma once

#include <string_view>

#include "runtime/npy_header.h"
#include "weft/tensor.h"

namespace weft {

/// Stored entries by coordinate in mode order; zeros are left out when the last level is dense, for there they only
/// fill the level.
Expected<Coordinates> sorted_entries(const Tensor& tensor, const Resources& resources, std::string_view name);

/// The tensor itself if it is dense in C order, else a copy that is.
Expected<Tensor> in_c_order(const Tensor& tensor, const Resources& resources, std::string_view name);

/// The NumPy header of a tensor in C order.
NpyHeader header_of(const Tensor& tensor);

}  // namespace weft
