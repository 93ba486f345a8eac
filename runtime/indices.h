// Reading and writing pos and crd arrays whose elements are 32 or 64 bits wide.
#pragma once

#include <cstdint>

#include "weft/memory.h"

namespace weft {

/// Calls f(T{}) with the element type of `bits`, so that the loops of a function are compiled once per width.
template <class F>
decltype(auto) with_width(unsigned bits, F&& f) {
  if (bits == 64) return f(std::uint64_t{});
  return f(std::uint32_t{});
}

/// An index array of either width, for code where the branch per element does not matter.
class Indices {
 public:
  Indices() = default;
  Indices(const Buffer& buffer, unsigned bits)
      : data_(buffer.data()), wide_(bits == 64), size_(buffer.size_bytes() / (bits / 8)) {}
  std::uint64_t size() const { return size_; }
  std::uint64_t operator[](std::uint64_t n) const {
    return wide_ ? static_cast<const std::uint64_t*>(data_)[n] : static_cast<const std::uint32_t*>(data_)[n];
  }

 private:
  const void* data_ = nullptr;
  bool wide_ = false;
  std::uint64_t size_ = 0;
};

/// Numbers below 2^32 fit into the narrower of the two widths. A build with WEFT_NARROW_BITS=3 lets only those below 2^3, so that
/// small tensors meet every place where a width may be too narrow (tests/run.sh --long).
#ifndef WEFT_NARROW_BITS
#define WEFT_NARROW_BITS 32
#endif
constexpr std::uint64_t narrow_numbers = std::uint64_t{1} << WEFT_NARROW_BITS;

/// Width of the coordinates of a mode as readers and builders hand them over (Coordinates::crd).
constexpr unsigned coordinate_bits(std::uint64_t extent) { return extent <= narrow_numbers ? 32 : 64; }

/// Makes a width of a Level at least so large: pos_bits = 32, needed = 64 becomes 64.
constexpr void widen(std::uint8_t& bits, unsigned needed) {
  if (bits < needed) bits = static_cast<std::uint8_t>(needed);
}

/// Width of an array of ends whose last one is `positions`.
constexpr unsigned position_bits(std::uint64_t positions) { return positions < narrow_numbers ? 32 : 64; }

}  // namespace weft
