// A row of R doubles in vector registers.
#pragma once

#include <cstring>

namespace weft::bench {

using Vector [[gnu::vector_size(64)]] = double;
// Loads and stores of rows that are only aligned to their elements.
using LooseVector [[gnu::vector_size(64), gnu::aligned(8), gnu::may_alias]] = double;

/// Of all lanes, halves first: three additions one after the other, where lane by lane would be seven.
inline double lane_sum(Vector vector) {
  const auto half = __builtin_shufflevector(vector, vector, 0, 1, 2, 3) + __builtin_shufflevector(vector, vector, 4, 5, 6, 7);
  const auto pair = __builtin_shufflevector(half, half, 0, 1) + __builtin_shufflevector(half, half, 2, 3);
  return pair[0] + pair[1];
}

/// A local of this type lives in registers once the loops over its vectors are unrolled. R is a multiple of 8.
template <int R>
struct Row {
  static constexpr int count = R / 8;
  Vector part[count];

  void clear() {
    for (int n = 0; n < count; ++n) part[n] = Vector{};
  }
  /// = row
  void load(const double* __restrict row) {
    const auto* from = reinterpret_cast<const LooseVector*>(row);
    for (int n = 0; n < count; ++n) part[n] = from[n];
  }
  /// = scale * row
  void set_scaled(double scale, const double* __restrict row) {
    const auto* from = reinterpret_cast<const LooseVector*>(row);
    for (int n = 0; n < count; ++n) part[n] = scale * from[n];
  }
  /// += scale * row
  void add_scaled(double scale, const double* __restrict row) {
    const auto* from = reinterpret_cast<const LooseVector*>(row);
    for (int n = 0; n < count; ++n) part[n] += scale * from[n];
  }
  /// *= row, element by element
  void multiply(const double* __restrict row) {
    const auto* from = reinterpret_cast<const LooseVector*>(row);
    for (int n = 0; n < count; ++n) part[n] *= from[n];
  }
  /// += other * row, element by element
  void add_product(const Row& other, const double* __restrict row) {
    const auto* from = reinterpret_cast<const LooseVector*>(row);
    for (int n = 0; n < count; ++n) part[n] += other.part[n] * from[n];
  }
  void add(const Row& other) {
    for (int n = 0; n < count; ++n) part[n] += other.part[n];
  }
  /// The inner product with a row.
  double dot(const double* __restrict row) const {
    const auto* from = reinterpret_cast<const LooseVector*>(row);
    Vector sum = part[0] * from[0];
    for (int n = 1; n < count; ++n) sum += part[n] * from[n];
    return lane_sum(sum);
  }
  void store(double* __restrict row) const {
    auto* to = reinterpret_cast<LooseVector*>(row);
    for (int n = 0; n < count; ++n) to[n] = part[n];
  }
};

constexpr unsigned fetched_ahead = 16;  ///< entries between fetching a row and reading it

/// Inlined before GCC finds that a function which only prefetches has no effects, and leaves its calls out.
template <int R>
[[gnu::always_inline]] inline void fetch_row(const double* row) {
  for (int n = 0; n < R; n += 8) __builtin_prefetch(row + n);
}

}  // namespace weft::bench
