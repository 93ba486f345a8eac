// What converting a tensor depends on.
#pragma once

#include <string_view>

#include "weft/tensor.h"

namespace weft {

/// A tensor with a layout in compressed levels, without the zeros that building added: for what knows plain formats alone. Others
/// as they are.
Expected<Tensor> in_plain_format(const Tensor& tensor, const Resources& resources, std::string_view name);

/// Whether the values decide what convert() stores: zeros of blocks that are opened are left out, and those that building a layout
/// added. A layout over arrays of the host has added none: its zeros are entries, and the pattern stays as values change.
bool values_decide_pattern(const Tensor& from, const Format& to);

}  // namespace weft
