// One-dimensional arrays of the host, elements one after the other: indices and values.
#pragma once

#include <cstdint>

#include "python/_weft/python.h"

namespace weft_python {

struct Line {
  const void* data = nullptr;
  std::uint64_t count = 0;
  std::uint32_t bits = 0;  ///< of an element, 32 or 64
  bool integers = false;   ///< else floating point
};

/// False, with no error set, where the object is no such array of native integers or floats. It has to stay alive.
bool read_line(PyObject* array, bool writable, Line& line);

}  // namespace weft_python
