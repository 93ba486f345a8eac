// Kernels over layouts as one would write them by hand, for one thread: the yardstick of weft-bench layouts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "weft/tensor.h"

namespace weft::bench {

/// y = B x of `columns` columns (1 or 32, rows side by side) by loops written for the layout of B: csr, bcsr(R,C) of the sizes that
/// are measured, dia(N). Nothing where there are none. Clears y itself; reads x padded with as many zeros on both sides as B has rows.
std::optional<std::function<void(std::span<const double> padded, std::span<double> y)>> by_hand(const Tensor& matrix,
                                                                                                const std::string& layout,
                                                                                                std::uint64_t columns);

}  // namespace weft::bench
