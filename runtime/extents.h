// Arithmetic on extents, whose products may exceed 64 bits.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace weft {

constexpr std::uint64_t saturated = std::numeric_limits<std::uint64_t>::max();

/// Of a mode of any tensor: signed numbers hold every coordinate, and every distance between two.
constexpr std::uint64_t largest_extent = std::numeric_limits<std::int64_t>::max();

/// a * b, or 2^64 - 1 if that does not fit; 0 times anything is 0, even times a saturated product.
constexpr std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? saturated : product;
}

/// a + b, or 2^64 - 1 if that does not fit.
constexpr std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? saturated : sum;
}

/// Bits that hold every coordinate below `extent`.
constexpr unsigned bits_for(std::uint64_t extent) {
  return extent <= 1 ? 0 : static_cast<unsigned>(std::bit_width(extent - 1));
}

}  // namespace weft
