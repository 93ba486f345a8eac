#include "python/_weft/compressed.h"

#include <algorithm>
#include <cstring>
#include <numeric>

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

template <class Element>
std::vector<std::byte> bytes_of(const Element* first, std::uint64_t count) {
  const auto* bytes = reinterpret_cast<const std::byte*>(first);
  return {bytes, bytes + count * sizeof(Element)};
}

template <class Index>
Order check_as(const CompressedView& view, const char* name) {
  const auto* pos = static_cast<const Index*>(view.pos);
  const auto* crd = static_cast<const Index*>(view.crd);
  const char* const fiber = view.by_columns ? "column" : "row";
  bool sorted = true;
  for (std::uint64_t row = 0; row < view.fibers(); ++row) {
    const auto begin = static_cast<std::int64_t>(pos[row]), end = static_cast<std::int64_t>(pos[row + 1]);
    if (begin > end || end > static_cast<std::int64_t>(view.nnz)) {
      raise_input(name, "%s: indptr decreases after %s %llu, from %lld to %lld", name, fiber,
                  static_cast<unsigned long long>(row), static_cast<long long>(begin), static_cast<long long>(end));
      return Order::failed;
    }
    std::int64_t last = -1;
    for (std::int64_t at = begin; at < end; ++at) {
      const auto coordinate = static_cast<std::int64_t>(crd[at]);
      if (coordinate < 0 || static_cast<std::uint64_t>(coordinate) >= view.width()) {
        raise_input(name,
                    "%s: index %lld at place %lld (%s %llu) is not within 0 to %llu, the extent of axis %d less one",
                    name, static_cast<long long>(coordinate), static_cast<long long>(at), fiber,
                    static_cast<unsigned long long>(row), static_cast<unsigned long long>(view.width()) - 1,
                    view.by_columns ? 0 : 1);
        return Order::failed;
      }
      sorted = sorted && coordinate > last;
      last = coordinate;
    }
  }
  return sorted ? Order::canonical : Order::unsorted;
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
  return view.index_bits == 64 ? check_as<std::int64_t>(view, name) : check_as<std::int32_t>(view, name);
}

SortedCopy::SortedCopy(const CompressedView& source) : shape_(source) {
  if (source.index_bits == 64) {
    sort<std::uint64_t>(source);
  } else {
    sort<std::uint32_t>(source);
  }
}

template <class Index>
void SortedCopy::sort(const CompressedView& source) {
  const auto* pos = static_cast<const Index*>(source.pos);
  const auto* crd = static_cast<const Index*>(source.crd);
  source_pos_ = bytes_of(pos, source.fibers() + 1);
  source_crd_ = bytes_of(crd, source.nnz);
  from_.resize(source.nnz);
  std::iota(from_.begin(), from_.end(), std::uint64_t{0});
  std::vector<Index> starts{0}, coordinates;
  coordinates.reserve(source.nnz);
  first_.reserve(source.nnz + 1);
  for (std::uint64_t row = 0; row < source.fibers(); ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(pos[row]), end = static_cast<std::ptrdiff_t>(pos[row + 1]);
    std::stable_sort(from_.begin() + begin, from_.begin() + end,
                     [&](std::uint64_t a, std::uint64_t b) { return crd[a] < crd[b]; });
    for (std::ptrdiff_t at = begin; at < end; ++at) {
      const Index coordinate = crd[from_[static_cast<std::size_t>(at)]];
      if (at > begin && coordinate == coordinates.back()) continue;
      coordinates.push_back(coordinate);
      first_.push_back(static_cast<std::uint64_t>(at));
    }
    starts.push_back(static_cast<Index>(coordinates.size()));
  }
  first_.push_back(source.nnz);
  entries_ = coordinates.size();
  pos_ = bytes_of(starts.data(), starts.size());
  crd_ = bytes_of(coordinates.data(), coordinates.size());
  if (source.scalar == WEFT_F64) {
    wide_.resize(entries_);
  } else {
    narrow_.resize(entries_);
  }
}

bool SortedCopy::still_of(const CompressedView& source) const {
  const std::size_t width = source.index_bits / 8;
  return source.index_bits == shape_.index_bits && source.scalar == shape_.scalar && source.rows == shape_.rows &&
         source.columns == shape_.columns && source.nnz == shape_.nnz && source.by_columns == shape_.by_columns &&
         std::memcmp(source.pos, source_pos_.data(), (source.fibers() + 1) * width) == 0 &&
         (source.nnz == 0 || std::memcmp(source.crd, source_crd_.data(), source.nnz * width) == 0);
}

template <class Value>
void SortedCopy::gather_as(const Value* from, std::vector<Value>& to) const {
  for (std::size_t entry = 0; entry < to.size(); ++entry) {
    Value sum = from[from_[first_[entry]]];
    for (std::uint64_t more = first_[entry] + 1; more < first_[entry + 1]; ++more) sum += from[from_[more]];
    to[entry] = sum;
  }
}

void SortedCopy::gather(const CompressedView& source) {
  if (source.scalar == WEFT_F64) {
    gather_as(static_cast<const double*>(source.values), wide_);
  } else {
    gather_as(static_cast<const float*>(source.values), narrow_);
  }
}

CompressedView SortedCopy::view() const {
  CompressedView view = shape_;
  view.pos = pos_.data();
  view.crd = crd_.data();
  view.values = shape_.scalar == WEFT_F64 ? static_cast<const void*>(wide_.data()) : narrow_.data();
  view.nnz = view.crd_count = view.value_count = entries_;
  return view;
}

}  // namespace weft_python
