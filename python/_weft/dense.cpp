#include "python/_weft/dense.h"

#include <algorithm>
#include <cstring>

#include "weft.h"

namespace weft_python {

bool DenseView::same_shape(const DenseView& other) const {
  return order == other.order && std::equal(extents.begin(), extents.begin() + order, other.extents.begin());
}

bool DenseView::same_layout(const DenseView& other) const {
  return scalar == other.scalar && same_shape(other) &&
         std::equal(strides.begin(), strides.begin() + order, other.strides.begin());
}

std::uint64_t DenseView::size() const {
  std::uint64_t product = 1;
  for (int mode = 0; mode < order; ++mode) product *= extents[static_cast<std::size_t>(mode)];
  return product;
}

bool DenseView::row_major() const {
  std::int64_t next = 1;
  for (int mode = order; mode-- > 0;) {
    const auto at = static_cast<std::size_t>(mode);
    if (extents[at] > 1 && strides[at] != next) return false;
    next *= static_cast<std::int64_t>(extents[at]);
  }
  return true;
}

std::string DenseView::arrangement() const {
  if (row_major()) return "r";
  std::string modes;
  for (int mode = 0; mode < order; ++mode) modes += static_cast<char>(mode);
  const auto extent = [&](char mode) { return extents[static_cast<std::size_t>(mode)]; };
  const auto stride = [&](char mode) { return strides[static_cast<std::size_t>(mode)]; };
  std::stable_sort(modes.begin(), modes.end(), [&](char a, char b) { return stride(a) > stride(b); });
  std::uint64_t next = 1;
  for (std::size_t at = modes.size(); at-- > 0;) {
    if (extent(modes[at]) == 1) continue;
    if (static_cast<std::uint64_t>(stride(modes[at])) != next) return "s";
    next *= extent(modes[at]);
  }
  return "p" + modes;
}

DenseRead read_dense(PyObject* array, bool writable, DenseView& view) {
  BufferView buffer;
  if (!buffer.acquire(array, writable ? PyBUF_RECORDS : PyBUF_RECORDS_RO)) {
    // numpy has types of which it makes no buffer; what is wrong is told by the package.
    if (writable) return DenseRead::failed;
    PyErr_Clear();
    return DenseRead::other;
  }
  const char* format = buffer->format ? buffer->format : "B";
  if (*format == '=' || *format == '@' || *format == '<') ++format;
  if (std::strcmp(format, "d") == 0) {
    view.scalar = WEFT_F64;
  } else if (std::strcmp(format, "f") == 0) {
    view.scalar = WEFT_F32;
  } else {
    return DenseRead::other;
  }
  const Py_ssize_t width = view.scalar == WEFT_F64 ? 8 : 4;
  if (buffer->ndim > most_dimensions) return DenseRead::other;
  // No element has a place: empty fields of records lie anywhere.
  const bool empty = std::any_of(buffer->shape, buffer->shape + buffer->ndim, [](Py_ssize_t extent) { return extent == 0; });
  const auto misaligned = reinterpret_cast<std::uintptr_t>(buffer->buf) % static_cast<std::uintptr_t>(width);
  if (misaligned != 0 && !empty) return DenseRead::other;
  view.order = buffer->ndim;
  view.values = static_cast<char*>(buffer->buf) - misaligned;
  for (int mode = 0; mode < view.order; ++mode) {
    const auto at = static_cast<std::size_t>(mode);
    if (buffer->strides[mode] % width != 0 && !empty) return DenseRead::other;
    view.extents[at] = static_cast<std::uint64_t>(buffer->shape[mode]);
    view.strides[at] = buffer->strides[mode] / width;
  }
  return DenseRead::done;
}

Bounds bounds_of(const DenseView& view) {
  const std::int64_t width = view.scalar == WEFT_F64 ? 8 : 4;
  std::int64_t before = 0, after = width;
  for (int mode = 0; mode < view.order; ++mode) {
    const auto at = static_cast<std::size_t>(mode);
    if (view.extents[at] == 0) return {};
    const std::int64_t reach = view.strides[at] * static_cast<std::int64_t>(view.extents[at] - 1) * width;
    (reach < 0 ? before : after) += reach;
  }
  const auto* first = static_cast<const char*>(view.values);
  return {first + before, first + after};
}

}  // namespace weft_python
