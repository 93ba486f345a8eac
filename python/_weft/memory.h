// Arrays of a tensor as objects with the buffer protocol: numpy looks at them where they lie.
#pragma once

#include <cstdint>

#include "python/_weft/python.h"

namespace weft_python {

/// Memory that belongs to `owner`, which lives as long as any view of it.
struct Memory {
  Ref owner;
  const void* data = nullptr;
  int order = 1;
  Py_ssize_t extents[32] = {};
  Py_ssize_t strides[32] = {};
  Py_ssize_t width = 8;      ///< bytes of an element
  const char* format = "d";  ///< as of the module `struct`
  bool writable = false;
};

bool add_memory_type(PyObject* module);
/// A line of `count` elements.
PyObject* make_memory(Ref owner, const void* data, std::uint64_t count, Py_ssize_t width, const char* format,
                      bool writable);
PyObject* make_memory(Memory memory);

}  // namespace weft_python
