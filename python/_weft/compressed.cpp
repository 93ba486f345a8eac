#include "python/_weft/compressed.h"

#include <algorithm>
#include <vector>

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
  PyObject* offsets = PyUnicode_InternFromString("offsets");
  PyObject* row = PyUnicode_InternFromString("row");
  PyObject* col = PyUnicode_InternFromString("col");
  PyObject* inner_shape = PyUnicode_InternFromString("_shape");
  PyObject* shape = PyUnicode_InternFromString("shape");
};

const Names& names() {
  static const Names all;
  return all;
}

/// Of a coo other where it has one axis or more than two.
CompressedRead read_shape(PyObject* matrix, CompressedView& view) {
  Ref shape = Ref::taken(PyObject_GetAttr(matrix, names().inner_shape));
  if (!shape) {
    PyErr_Clear();
    shape = Ref::taken(PyObject_GetAttr(matrix, names().shape));
  }
  if (!shape) return CompressedRead::failed;
  if (!PyTuple_Check(shape.get()) || PyTuple_Size(shape.get()) != 2) {
    if (view.arrangement == Arrangement::entries && PyTuple_Check(shape.get())) return CompressedRead::other;
    PyErr_SetString(PyExc_TypeError, "a compressed matrix has a shape of two extents");
    return CompressedRead::failed;
  }
  view.rows = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape.get(), 0));
  view.columns = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape.get(), 1));
  return PyErr_Occurred() ? CompressedRead::failed : CompressedRead::done;
}

template <class Index>
Index element(const void* array, std::uint64_t at) {
  return static_cast<const Index*>(array)[at];
}

std::int64_t index_at(const void* array, std::uint32_t bits, std::uint64_t at) {
  return bits == 64 ? element<std::int64_t>(array, at) : element<std::int32_t>(array, at);
}

const char* fiber_word(Arrangement arrangement) {
  return arrangement == Arrangement::blocks ? "block row" : arrangement == Arrangement::columns ? "column" : "row";
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
  const char* const fiber = fiber_word(view.arrangement);
  const auto number = static_cast<unsigned long long>(defect.fiber);
  if (defect.what == Defect::What::decreases && defect.begin <= defect.end) {
    raise_input(name, "%s: indptr is %lld after %s %llu, beyond its end at %llu", name, static_cast<long long>(defect.end), fiber,
                number, static_cast<unsigned long long>(view.nnz));
    return;
  }
  if (defect.what == Defect::What::decreases) {
    raise_input(name, "%s: indptr decreases after %s %llu, from %lld to %lld", name, fiber, number,
                static_cast<long long>(defect.begin), static_cast<long long>(defect.end));
    return;
  }
  const char* const limit = view.arrangement == Arrangement::columns ? "the extent of axis 0"
                            : view.arrangement == Arrangement::rows  ? "the extent of axis 1"
                                                                     : "the blocks in a row";
  raise_input(name, "%s: index %lld at place %lld (%s %llu) is not below %llu, %s, or negative", name,
              static_cast<long long>(defect.coordinate), static_cast<long long>(defect.place), fiber, number,
              static_cast<unsigned long long>(view.width()), limit);
}

/// Values of a csr or csc one after the other, of a bsr by block, of a dia by diagonal. False where they are none.
bool read_values(PyObject* array, CompressedView& view) {
  Line values;
  const int dimensions = view.arrangement == Arrangement::blocks      ? 3
                         : view.arrangement == Arrangement::diagonals ? 2
                                                                      : 1;
  if (!read_line(array, false, values, dimensions) || values.integers) return false;
  view.values = values.data;
  view.value_count = values.count;
  view.scalar = values.bits == 64 ? WEFT_F64 : WEFT_F32;
  if (dimensions > 1) view.block_columns = values.extents[static_cast<std::size_t>(dimensions) - 1];
  if (dimensions == 3) view.block_rows = values.extents[1];
  return view.block_size() > 0 || dimensions == 2;
}

bool read_coordinates(PyObject* array, CompressedView& view) {
  Line crd;
  if (!read_line(array, false, crd) || !crd.integers) return false;
  view.crd = crd.data;
  view.crd_count = crd.count;
  view.index_bits = crd.bits;
  return true;
}

/// Diagonals that the matrix has, each at least as long as its part within the matrix, or zero from there on.
CompressedRead read_diagonals(PyObject* matrix, const char* name, CompressedView& view, CompressedArrays& arrays) {
  arrays.crd = Ref::taken(PyObject_GetAttr(matrix, names().offsets));
  if (!arrays.crd) return CompressedRead::failed;
  if (!read_values(arrays.values.get(), view) || !read_coordinates(arrays.crd.get(), view))
    return CompressedRead::other;
  view.nnz = view.crd_count;
  if (view.nnz == 0) view.block_columns = view.columns;
  if (view.value_count != view.stored()) {
    raise_input(name, "%s: offsets has %llu elements for %llu values in rows of %llu", name,
                static_cast<unsigned long long>(view.crd_count), static_cast<unsigned long long>(view.value_count),
                static_cast<unsigned long long>(view.block_columns));
    return CompressedRead::failed;
  }
  if (view.block_columns > view.columns || (view.nnz > 0 && view.block_columns == 0)) return CompressedRead::other;
  for (std::uint64_t number = 0; number < view.nnz; ++number) {
    if (diagonal_at(view, number) >= view.width()) return CompressedRead::other;
  }
  return CompressedRead::done;
}

Order check_diagonals(const CompressedView& view, const char* name) {
  std::vector<std::uint64_t> diagonals;
  for (std::uint64_t number = 0; number < view.nnz; ++number) diagonals.push_back(diagonal_at(view, number));
  std::ranges::sort(diagonals);
  const auto twice = std::ranges::adjacent_find(diagonals);
  if (twice == diagonals.end()) return Order::canonical;
  raise_input(name, "%s: the offset %lld is there twice", name,
              static_cast<long long>(*twice) - static_cast<long long>(view.rows) + 1);
  return Order::failed;
}

/// Arrays of two names, of integers of one width, and the values; how many the first one has.
CompressedRead read_arrays(PyObject* matrix, PyObject* first, PyObject* second, CompressedView& view, CompressedArrays& arrays,
                           std::uint64_t& count) {
  arrays.pos = Ref::taken(PyObject_GetAttr(matrix, first));
  if (!arrays.pos) return CompressedRead::failed;
  arrays.crd = Ref::taken(PyObject_GetAttr(matrix, second));
  if (!arrays.crd) return CompressedRead::failed;
  Line pos;
  if (!read_line(arrays.pos.get(), false, pos) || !pos.integers || !read_coordinates(arrays.crd.get(), view) ||
      !read_values(arrays.values.get(), view) || pos.bits != view.index_bits) {
    return CompressedRead::other;
  }
  view.pos = pos.data;
  count = pos.count;
  return CompressedRead::done;
}

/// As many rows and columns as values.
CompressedRead read_entries(PyObject* matrix, const char* name, CompressedView& view, CompressedArrays& arrays) {
  std::uint64_t rows = 0;
  const CompressedRead read = read_arrays(matrix, names().row, names().col, view, arrays, rows);
  if (read != CompressedRead::done) return read;
  view.nnz = view.crd_count;
  // Nearly all rows are empty: their starts would take more than the entries.
  if (view.rows / 16 > view.nnz + 64) return CompressedRead::other;
  if (rows != view.nnz || view.value_count != view.nnz) {
    raise_input(name, "%s: row has %llu elements, col %llu and data %llu", name,
                static_cast<unsigned long long>(rows), static_cast<unsigned long long>(view.nnz),
                static_cast<unsigned long long>(view.value_count));
    return CompressedRead::failed;
  }
  return CompressedRead::done;
}

/// The first entry whose index of an axis is out of range; their number where none is.
template <class Index>
std::uint64_t first_outside(const void* indices, std::uint64_t count, std::uint64_t extent) {
  const auto* each = static_cast<const Index*>(indices);
  std::uint64_t at = 0;
  while (at < count && static_cast<std::uint64_t>(static_cast<std::int64_t>(each[at])) < extent) ++at;
  return at;
}

Order check_entries(const CompressedView& view, const char* name) {
  for (const int axis : {0, 1}) {
    const void* const indices = axis == 0 ? view.pos : view.crd;
    const std::uint64_t extent = axis == 0 ? view.rows : view.columns;
    std::uint64_t outside = 0;
    {
      const WithoutGil released(view.nnz > many_elements);
      outside = view.index_bits == 64 ? first_outside<std::int64_t>(indices, view.nnz, extent)
                                      : first_outside<std::int32_t>(indices, view.nnz, extent);
    }
    if (outside == view.nnz) continue;
    raise_input(name, "%s: index %lld of entry %llu is not below %llu, the extent of axis %d, or negative", name,
                static_cast<long long>(index_at(indices, view.index_bits, outside)),
                static_cast<unsigned long long>(outside), static_cast<unsigned long long>(extent), axis);
    return Order::failed;
  }
  return Order::unsorted;
}

}  // namespace

std::uint64_t CompressedView::fibers() const {
  switch (arrangement) {
    case Arrangement::rows:
    case Arrangement::entries:
      return rows;
    case Arrangement::columns:
      return columns;
    case Arrangement::blocks:
      return rows / block_rows;
    case Arrangement::diagonals:
      return 1;
  }
  return 0;
}

std::uint64_t CompressedView::width() const {
  switch (arrangement) {
    case Arrangement::rows:
    case Arrangement::entries:
      return columns;
    case Arrangement::columns:
      return rows;
    case Arrangement::blocks:
      return columns / block_columns;
    case Arrangement::diagonals:
      return rows == 0 || columns == 0 ? 0 : rows + columns - 1;
  }
  return 0;
}

std::uint64_t diagonal_at(const CompressedView& view, std::uint64_t number) {
  return static_cast<std::uint64_t>(index_at(view.crd, view.index_bits, number)) + view.rows - 1;
}

CompressedRead read_compressed(PyObject* matrix, Arrangement arrangement, const char* name, CompressedView& view,
                               CompressedArrays& arrays) {
  view.arrangement = arrangement;
  arrays.values = Ref::taken(PyObject_GetAttr(matrix, names().data));
  if (!arrays.values) return CompressedRead::failed;
  if (const CompressedRead shape = read_shape(matrix, view); shape != CompressedRead::done) return shape;
  if (arrangement == Arrangement::diagonals) return read_diagonals(matrix, name, view, arrays);
  if (arrangement == Arrangement::entries) return read_entries(matrix, name, view, arrays);
  std::uint64_t bounds = 0;
  const CompressedRead read = read_arrays(matrix, names().indptr, names().indices, view, arrays, bounds);
  if (read != CompressedRead::done) return read;
  if (view.rows % view.block_rows != 0 || view.columns % view.block_columns != 0) {
    raise_input(name, "%s: blocks of %llu x %llu do not divide the shape, %llu x %llu", name,
                static_cast<unsigned long long>(view.block_rows), static_cast<unsigned long long>(view.block_columns),
                static_cast<unsigned long long>(view.rows), static_cast<unsigned long long>(view.columns));
    return CompressedRead::failed;
  }
  if (bounds != view.fibers() + 1) {
    raise_input(name, "%s: indptr has %llu elements, not %llu, one more than there are %ss", name,
                static_cast<unsigned long long>(bounds), static_cast<unsigned long long>(view.fibers()) + 1,
                fiber_word(arrangement));
    return CompressedRead::failed;
  }
  const std::int64_t first = index_at(view.pos, view.index_bits, 0), last = index_at(view.pos, view.index_bits, view.fibers());
  if (first != 0 || last < 0) {
    raise_input(name, "%s: indptr goes from %lld to %lld; it begins at 0 and does not decrease", name,
                static_cast<long long>(first), static_cast<long long>(last));
    return CompressedRead::failed;
  }
  view.nnz = static_cast<std::uint64_t>(last);
  if (view.crd_count < view.nnz || view.value_count < view.stored()) {
    raise_input(name, "%s: indptr ends at %llu, but indices has %llu elements and data %llu", name,
                static_cast<unsigned long long>(view.nnz), static_cast<unsigned long long>(view.crd_count),
                static_cast<unsigned long long>(view.value_count / view.block_size()));
    return CompressedRead::failed;
  }
  return CompressedRead::done;
}

Order check_compressed(const CompressedView& view, const char* name) {
  if (view.arrangement == Arrangement::diagonals) return check_diagonals(view, name);
  if (view.arrangement == Arrangement::entries) return check_entries(view, name);
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
