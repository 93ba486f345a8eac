// Kernels over layouts as one would write them by hand, for one thread: the yardstick of weft-bench layouts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "weft/tensor.h"

namespace weft::bench {

/// As many as B has rows, in whole strips.
constexpr std::uint64_t padding(std::uint64_t rows) { return (rows + 63) / 64 * 64; }

/// y = B x of `columns` columns (1 or 32, rows side by side) by loops written for the layout of B: csr, bcsr(R,C) of the sizes that
/// are measured, dia(N), and of one column sell(8), ell, nm(2,4), vbl. Nothing where there are none. Clears y itself; reads x with
/// `padding` rows of zeros on both sides.
std::optional<std::function<void(std::span<const double> padded, std::span<double> y)>> by_hand(const Tensor& matrix,
                                                                                                const std::string& layout,
                                                                                                std::uint64_t columns);

}  // namespace weft::bench
