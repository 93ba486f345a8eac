// Sections of tensors: some coordinates of each mode, in steps.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weft/tensor.h"

namespace weft {

/// The coordinates lowest, lowest + step, …, `count` of them, all below the extent. A mode that is not kept has one.
struct SectionMode {
  std::uint64_t lowest = 0;
  std::uint64_t step = 1;
  std::uint64_t count = 0;
  bool kept = true;
};

/// The section of a tensor without layout, gaps and strides, by mode; at least one is kept. All levels are compressed, in the
/// order of those of the tensor, so that nothing is sorted. Errors: input, of arrays that are none; resource naming `name`;
/// cancelled.
Expected<Tensor> section(const Tensor& tensor, std::span<const SectionMode> modes, const Resources& resources, std::string_view name);

}  // namespace weft
