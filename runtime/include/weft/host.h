// Tensors over memory of the host: nothing is copied, and the arrays are verified before something first reads them.
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/tensor.h"

namespace weft {

/// An array of indices as hosts have them (vector, array, span), signed or not: a negative one is found out of range
/// when it is verified. Of 32 or 64 bits; of 8 or 16 where a layout says so, (i:d, j/4:s, j%4:q<8>).
struct HostIndices {
  HostIndices() = default;
  template <class Array, class T = std::remove_cvref_t<decltype(*std::data(std::declval<const Array&>()))>>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  HostIndices(const Array& array)
      : data(std::data(array)),
        bytes(std::size(array) * sizeof(T)),
        bits(sizeof(T) * 8),
        is_signed(std::is_signed_v<T>) {}
  const void* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint8_t bits = 32;
  bool is_signed = false;
};

struct HostValues {
  template <class Array, class T = std::remove_cvref_t<decltype(*std::data(std::declval<const Array&>()))>>
    requires(std::is_same_v<T, double> || std::is_same_v<T, float>)
  HostValues(const Array& array)
      : data(std::data(array)),
        bytes(std::size(array) * sizeof(T)),
        scalar(sizeof(T) == 8 ? Scalar::f64 : Scalar::f32) {}
  const void* data;
  std::uint64_t bytes;
  Scalar scalar;
};

/// The arrays of one level as LevelArrays describes them. A compressed first level without pos has one fiber, all of
/// crd. Where bounds say how long fibers are and nothing above is stored, pos may be left out and is made: of "lower",
/// (i:d, j:d(..i+1)), the values alone are lent, a packed triangle row after row. Of a bitmap level crd is its words of
/// 64 bits, ceil(extent / 64) for each position above, and pos is left out: bit c % 64 of word c / 64 says whether
/// coordinate c has an entry. Values, and pos of levels below, are those of all coordinates: 0, and no entries.
struct HostLevel {
  HostIndices pos, crd;
};

/// Each lends the arrays, which must stay as they are until the last copy of the tensor dies; values may be changed
/// between runs where OperandUse::changes says so. Input error for arrays whose sizes cannot be right. Any thread. They
/// are verified once for all copies, by the first call that reads them, which fails with what verify() tells. `format`
/// says kinds and mode order; widths and scalar are those of the arrays.
Expected<Tensor> borrow(Format format, std::vector<std::uint64_t> extents, const std::vector<HostLevel>& levels,
                        HostValues values);
/// Strides in elements by mode, negative ones too, of an element at coordinate 0, 0, … that is the `offset`-th of
/// `values`; without strides: row-major. Elements without gaps are known by the order of their modes: `dd:1,0` is a
/// matrix by columns.
Expected<Tensor> borrow_dense(std::vector<std::uint64_t> extents, HostValues values,
                              const std::vector<std::int64_t>& strides = {}, std::uint64_t offset = 0);
Expected<Tensor> borrow_csr(std::uint64_t rows, std::uint64_t columns, HostIndices pos, HostIndices crd,
                            HostValues values);
Expected<Tensor> borrow_csc(std::uint64_t rows, std::uint64_t columns, HostIndices pos, HostIndices crd,
                            HostValues values);
/// Entries sorted by mode 0, then 1, …, none twice; one array of coordinates per mode. Others: build(), or,
/// as they are, in any order, borrow(*parse_format("coo(unordered)"), {rows, columns}, {{}, {{}, i}, {{}, j}}, values).
Expected<Tensor> borrow_coo(std::vector<std::uint64_t> extents, const std::vector<HostIndices>& crd, HostValues values);

/// The tensor with other values of the host over the same pattern, as many as it stores (`Tensor::values`), lent like
/// those above. What is known of the pattern is shared, so that nothing is counted or verified again.
Expected<Tensor> same_pattern(const Tensor& tensor, HostValues values);

/// The same in arrays of the host: pos and crd of each level are written there, as wide as they are, and lent with the
/// values, which are left as they are. Input error of code sizes where an array has another size than the tensor's, or
/// 32 bits are too few. Of dense, compressed and singleton levels.
Expected<Tensor> same_pattern(const Tensor& tensor, const std::vector<HostLevel>& levels, HostValues values);

/// The tensor with arrays that the host vouches for: nothing verifies them through this handle and its copies, and a
/// defect in them is undefined behaviour. What is known of the tensor is shared with it.
Tensor trusted(Tensor tensor);

}  // namespace weft
