#include "python/_weft/compressed.h"

#include <cstring>

#include "python/_weft/errors.h"
#include "python/_weft/line.h"
#include "weft.h"

namespace weft_python {
namespace {

/// Names of attributes, made once.
struct Names {
  PyObject* data = PyUnicode_InternFromString("data");
  PyObject* indices = PyUnicode_InternFromString("indices");
  PyObject* indptr = PyUnicode_InternFromString("indptr");
  PyObject* inner_shape = PyUnicode_InternFromString("_shape");
  PyObject* shape = PyUnicode_InternFromString("shape");
};

const Names& names() {
  static const Names all;
  return all;
}

bool read_shape(PyObject* matrix, CompressedView& view) {
  Ref shape = Ref::taken(PyObject_GetAttr(matrix, names().inner_shape));
  if (!shape) {
    PyErr_Clear();
    shape = Ref::taken(PyObject_GetAttr(matrix, names().shape));
  }
  if (!shape) return false;
  if (!PyTuple_Check(shape.get()) || PyTuple_Size(shape.get()) != 2) {
    PyErr_SetString(PyExc_TypeError, "a compressed matrix has a shape of two extents");
    return false;
  }
  view.rows = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape.get(), 0));
  view.columns = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape.get(), 1));
  return !PyErr_Occurred();
}

template <class Index>
Index element(const void* array, std::uint64_t at) {
  return static_cast<const Index*>(array)[at];
}

std::int64_t index_at(const void* array, std::uint32_t bits, std::uint64_t at) {
  return bits == 64 ? element<std::int64_t>(array, at) : element<std::int32_t>(array, at);
}

/// Where the indices are none, and why.
struct Defect {
  enum class What { none, decreases, out_of_range } what = What::none;
  std::uint64_t fiber = 0;
  std::int64_t begin = 0, end = 0;         ///< of the fiber
  std::int64_t place = 0, coordinate = 0;  ///< of the index
};

template <class Index>
Order look_at(const CompressedView& view, Defect& defect) {
  const auto* pos = static_cast<const Index*>(view.pos);
  const auto* crd = static_cast<const Index*>(view.crd);
  bool sorted = true;
  for (std::uint64_t fiber = 0; fiber < view.fibers(); ++fiber) {
    const auto begin = static_cast<std::int64_t>(pos[fiber]), end = static_cast<std::int64_t>(pos[fiber + 1]);
    if (begin > end || end > static_cast<std::int64_t>(view.nnz)) {
      defect = {Defect::What::decreases, fiber, begin, end};
      return Order::failed;
    }
    std::int64_t last = -1;
    for (std::int64_t at = begin; at < end; ++at) {
      const auto coordinate = static_cast<std::int64_t>(crd[at]);
      if (coordinate < 0 || static_cast<std::uint64_t>(coordinate) >= view.width()) {
        defect = {Defect::What::out_of_range, fiber, begin, end, at, coordinate};
        return Order::failed;
      }
      sorted = sorted && coordinate > last;
      last = coordinate;
    }
  }
  return sorted ? Order::canonical : Order::unsorted;
}

void raise_defect(const CompressedView& view, const char* name, const Defect& defect) {
  const char* const fiber = view.by_columns ? "column" : "row";
  const auto number = static_cast<unsigned long long>(defect.fiber);
  if (defect.what == Defect::What::decreases) {
    raise_input(name, "%s: indptr decreases after %s %llu, from %lld to %lld", name, fiber, number,
                static_cast<long long>(defect.begin), static_cast<long long>(defect.end));
    return;
  }
  raise_input(name, "%s: index %lld at place %lld (%s %llu) is not below %llu, the extent of axis %d, or negative",
              name, static_cast<long long>(defect.coordinate), static_cast<long long>(defect.place), fiber, number,
              static_cast<unsigned long long>(view.width()), view.by_columns ? 0 : 1);
}

}  // namespace

CompressedRead read_compressed(PyObject* matrix, bool by_columns, const char* name, CompressedView& view,
                               CompressedArrays& arrays) {
  arrays.values = Ref::taken(PyObject_GetAttr(matrix, names().data));
  if (!arrays.values) return CompressedRead::failed;
  arrays.crd = Ref::taken(PyObject_GetAttr(matrix, names().indices));
  if (!arrays.crd) return CompressedRead::failed;
  arrays.pos = Ref::taken(PyObject_GetAttr(matrix, names().indptr));
  if (!arrays.pos || !read_shape(matrix, view)) return CompressedRead::failed;
  Line pos, crd, values;
  if (!read_line(arrays.pos.get(), false, pos) || !read_line(arrays.crd.get(), false, crd) ||
      !read_line(arrays.values.get(), false, values)) {
    return CompressedRead::other;
  }
  if (!pos.integers || !crd.integers || values.integers || pos.bits != crd.bits) return CompressedRead::other;
  view.by_columns = by_columns;
  if (pos.count != view.fibers() + 1) {
    raise_input(name, "%s: indptr has %llu elements, not %llu, one more than there are %s", name,
                static_cast<unsigned long long>(pos.count), static_cast<unsigned long long>(view.fibers()) + 1,
                by_columns ? "columns" : "rows");
    return CompressedRead::failed;
  }
  const std::int64_t first = index_at(pos.data, pos.bits, 0), last = index_at(pos.data, pos.bits, view.fibers());
  if (first != 0 || last < 0) {
    raise_input(name, "%s: indptr goes from %lld to %lld; it begins at 0 and does not decrease", name,
                static_cast<long long>(first), static_cast<long long>(last));
    return CompressedRead::failed;
  }
  view.nnz = static_cast<std::uint64_t>(last);
  if (crd.count < view.nnz || values.count < view.nnz) {
    raise_input(name, "%s: indptr ends at %llu, but indices has %llu elements and data %llu", name,
                static_cast<unsigned long long>(view.nnz), static_cast<unsigned long long>(crd.count),
                static_cast<unsigned long long>(values.count));
    return CompressedRead::failed;
  }
  view.pos = pos.data;
  view.crd = crd.data;
  view.values = values.data;
  view.crd_count = crd.count;
  view.value_count = values.count;
  view.index_bits = pos.bits;
  view.scalar = values.bits == 64 ? WEFT_F64 : WEFT_F32;
  return CompressedRead::done;
}

Order check_compressed(const CompressedView& view, const char* name) {
  Defect defect;
  Order order = Order::failed;
  {
    const WithoutGil released(view.nnz + view.fibers() > many_elements);
    order = view.index_bits == 64 ? look_at<std::int64_t>(view, defect) : look_at<std::int32_t>(view, defect);
  }
  if (order == Order::failed) raise_defect(view, name, defect);
  return order;
}

}  // namespace weft_python
