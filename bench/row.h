// A row of R doubles in vector registers.
#pragma once

#include <cstring>

namespace weft::bench {

using Vector [[gnu::vector_size(64)]] = double;
// Loads and stores of rows that are only aligned to their elements.
using LooseVector [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = double;

/// A local of this type lives in registers once the loops over its vectors are unrolled. R is a multiple of 8.
template <int R>
struct Row {
  static constexpr int count = R / 8;
  Vector part[count];

  void clear() {
    for (int n = 0; n < count; ++n) part[n] = Vector{};
  }
  /// += scale * row
  void add_scaled(double scale, const double* __restrict row) {
    const auto* from = reinterpret_cast<const LooseVector*>(row);
    for (int n = 0; n < count; ++n) part[n] += scale * from[n];
  }
  /// += other * row, element by element
  void add_product(const Row& other, const double* __restrict row) {
    const auto* from = reinterpret_cast<const LooseVector*>(row);
    for (int n = 0; n < count; ++n) part[n] += other.part[n] * from[n];
  }
  void store(double* __restrict row) const {
    auto* to = reinterpret_cast<LooseVector*>(row);
    for (int n = 0; n < count; ++n) to[n] = part[n];
  }
};

}  // namespace weft::bench
