// A row of R doubles in vector registers.
#pragma once

namespace weft::bench {

#if defined(__AVX512F__)
constexpr int register_bytes = 64;
#elif defined(__AVX__)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif
using Register [[gnu::vector_size(register_bytes)]] = double;
// Loads and stores of rows that are only aligned to their elements.
using LooseRegister [[gnu::vector_size(register_bytes), gnu::aligned(8), gnu::may_alias]] = double;

/// Halves first: three additions one after the other for eight lanes, where lane by lane would be seven.
template <class Lanes>
inline double lane_sum_of(Lanes lanes) {
  if constexpr (sizeof(Lanes) == 64) {
    return lane_sum_of(__builtin_shufflevector(lanes, lanes, 0, 1, 2, 3) + __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7));
  } else if constexpr (sizeof(Lanes) == 32) {
    return lane_sum_of(__builtin_shufflevector(lanes, lanes, 0, 1) + __builtin_shufflevector(lanes, lanes, 2, 3));
  } else {
    return lanes[0] + lanes[1];
  }
}

/// Eight doubles in as many registers as they take: GCC 12 goes through memory for vectors that are wider than a register.
struct Vector {
  static constexpr int parts = 64 / register_bytes;
  static constexpr int lanes = register_bytes / 8;
  Register part[parts];

  Vector& operator+=(const Vector& other) {
    for (int n = 0; n < parts; ++n) part[n] += other.part[n];
    return *this;
  }
  Vector& operator*=(const Vector& other) {
    for (int n = 0; n < parts; ++n) part[n] *= other.part[n];
    return *this;
  }
};

inline Vector operator+(Vector one, const Vector& other) { return one += other; }
inline Vector operator*(Vector one, const Vector& other) { return one *= other; }
inline Vector operator*(double scale, Vector vector) {
  for (Register& part : vector.part) part *= scale;
  return vector;
}
inline Vector all_lanes(double value) {
  Vector vector{};
  for (Register& part : vector.part) part += value;
  return vector;
}

inline Vector loaded(const double* from) {
  Vector vector;
  for (int n = 0; n < Vector::parts; ++n) vector.part[n] = *reinterpret_cast<const LooseRegister*>(from + n * Vector::lanes);
  return vector;
}
inline void stored(double* to, const Vector& vector) {
  for (int n = 0; n < Vector::parts; ++n) *reinterpret_cast<LooseRegister*>(to + n * Vector::lanes) = vector.part[n];
}

inline double lane_sum(const Vector& vector) {
  Register sum = vector.part[0];
  for (int n = 1; n < Vector::parts; ++n) sum += vector.part[n];
  return lane_sum_of(sum);
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
    for (int n = 0; n < count; ++n) part[n] = loaded(row + 8 * n);
  }
  /// = scale * row
  void set_scaled(double scale, const double* __restrict row) {
    for (int n = 0; n < count; ++n) part[n] = scale * loaded(row + 8 * n);
  }
  /// += scale * row
  void add_scaled(double scale, const double* __restrict row) {
    for (int n = 0; n < count; ++n) part[n] += scale * loaded(row + 8 * n);
  }
  /// *= row, element by element
  void multiply(const double* __restrict row) {
    for (int n = 0; n < count; ++n) part[n] *= loaded(row + 8 * n);
  }
  /// += other * row, element by element
  void add_product(const Row& other, const double* __restrict row) {
    for (int n = 0; n < count; ++n) part[n] += other.part[n] * loaded(row + 8 * n);
  }
  void add(const Row& other) {
    for (int n = 0; n < count; ++n) part[n] += other.part[n];
  }
  /// The inner product with a row.
  double dot(const double* __restrict row) const {
    Vector sum = part[0] * loaded(row);
    for (int n = 1; n < count; ++n) sum += part[n] * loaded(row + 8 * n);
    return lane_sum(sum);
  }
  void store(double* __restrict row) const {
    for (int n = 0; n < count; ++n) stored(row + 8 * n, part[n]);
  }
};

constexpr unsigned fetched_ahead = 16;  ///< entries between fetching a row and reading it

/// Inlined before GCC finds that a function which only prefetches has no effects, and leaves its calls out.
template <int R>
[[gnu::always_inline]] inline void fetch_row(const double* row) {
  for (int n = 0; n < R; n += 8) __builtin_prefetch(row + n);
}

}  // namespace weft::bench
