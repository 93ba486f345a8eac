// What layouts allow the arrays of their levels besides what formats do, and what they ask of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/layout.h"
#include "weft/tensor.h"

namespace weft {

struct LevelRules {
  std::vector<LevelOrder> order = {};      ///< by level; unordered: each coordinate of a fiber once
  std::vector<bool> childless = {};        ///< by level: positions need no leaf below
};

/// verify() of the levels of a layout, a tensor over level coordinates.
Expected<void> verify_levels(const Tensor& levels, const LevelRules& rules, const Resources& resources, std::string_view name);

/// verify() of a tensor with a layout: its levels, then what the layout asks: gaps between starts, lengths as bounds say, slots
/// in order, nothing but zeros where no coordinates are.
Expected<void> verify_layout(const Tensor& tensor, const Resources& resources, std::string_view name);

}  // namespace weft
