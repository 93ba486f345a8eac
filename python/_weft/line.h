// Arrays of the host, elements one after the other: indices, values, and those of blocks and diagonals.
#pragma once

#include <array>
#include <cstdint>

#include "python/_weft/python.h"

namespace weft_python {

struct Line {
  const void* data = nullptr;
  std::uint64_t count = 0;
  std::uint32_t bits = 0;                  ///< of an element, 32 or 64
  bool integers = false;                   ///< else floating point
  std::array<std::uint64_t, 3> extents{};  ///< of as many dimensions as were asked for
};

/// False, with no error set, where the object is no such row-major array of native integers or floats, of one to three
/// dimensions. It has to stay alive.
bool read_line(PyObject* array, bool writable, Line& line, int dimensions = 1);

}  // namespace weft_python
