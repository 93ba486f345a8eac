// The levels of a tensor with a layout as a tensor of their own, over level coordinates in mode order 0, 1, …: what it means to
// code that lists and checks plain formats. Coordinates of 8 and 16 bits are widened; in which order they stand stays.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/level_rules.h"
#include "weft/tensor.h"

namespace weft {

/// Shares what is stored alike. `tensor` has as many arrays as its layout levels.
Expected<Tensor> level_tensor(const Tensor& tensor, const Resources& resources, std::string_view name);

/// The other way: what a format with a layout stores. `levels` has the kinds of the format.
Expected<Tensor> with_layout(const Tensor& levels, Format format, std::vector<std::uint64_t> extents, bool padded,
                             const Resources& resources, std::string_view name);

LevelRules level_rules(const Layout& layout);

}  // namespace weft
