#include "python/_weft/line.h"

#include <cstring>

namespace weft_python {

bool read_line(PyObject* array, bool writable, Line& line, int dimensions) {
  BufferView buffer;
  const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
  if (!buffer.acquire(array, flags)) {
    PyErr_Clear();
    return false;
  }
  if (buffer->ndim != dimensions) return false;
  const char* format = buffer->format ? buffer->format : "B";
  if (*format == '=' || *format == '@' || *format == '<') ++format;
  if (*format == '\0' || format[1] != '\0') return false;
  line.integers = std::strchr("ilqnILQN", *format) != nullptr;
  if (!line.integers && *format != 'd' && *format != 'f') return false;
  line.bits = static_cast<std::uint32_t>(buffer->itemsize * 8);
  if (line.bits != 32 && line.bits != 64) return false;
  if (reinterpret_cast<std::uintptr_t>(buffer->buf) % static_cast<std::uintptr_t>(buffer->itemsize) != 0) return false;
  line.data = buffer->buf;
  line.count = 1;
  for (int axis = 0; axis < dimensions; ++axis) {
    line.extents[static_cast<std::size_t>(axis)] = static_cast<std::uint64_t>(buffer->shape[axis]);
    line.count *= static_cast<std::uint64_t>(buffer->shape[axis]);
  }
  return true;
}

}  // namespace weft_python
