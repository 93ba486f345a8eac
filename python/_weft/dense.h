// Dense arrays of the host where they lie: numpy's, through the buffer protocol.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "python/_weft/python.h"

namespace weft_python {

/// numpy has no arrays of more dimensions.
constexpr int most_dimensions = 32;

/// What a kernel has to know of an array, and what tells whether it is still the one that was bound.
struct DenseView {
  const void* values = nullptr;  ///< of the element at coordinates 0, 0, …
  std::int32_t scalar = 0;       ///< WEFT_F64 or WEFT_F32
  int order = 0;
  std::array<std::uint64_t, most_dimensions> extents;
  std::array<std::int64_t, most_dimensions> strides;  ///< in elements

  bool same_shape(const DenseView& other) const;
  bool same_layout(const DenseView& other) const;
  std::uint64_t size() const;
  bool row_major() const;
  /// What a plan knows of where the elements are: "r", "p" and the modes, outermost first, of elements that follow each other in
  /// another order, or "s".
  std::string arrangement() const;
};

enum class DenseRead {
  done,
  other,   ///< an array that has to be converted first: another type of values, misaligned, byte-swapped, not by whole
           ///< elements
  failed,  ///< with Python's error set
};

/// Reads an array of f64 or f32; `writable` ones must be so. The buffer is given back: the array has to stay alive.
DenseRead read_dense(PyObject* array, bool writable, DenseView& view);

/// The lowest byte that the array has, and the one after the highest.
struct Bounds {
  const char* begin = nullptr;
  const char* end = nullptr;
  bool meets(const Bounds& other) const { return begin < other.end && other.begin < end; }
};
Bounds bounds_of(const DenseView& view);

}  // namespace weft_python
