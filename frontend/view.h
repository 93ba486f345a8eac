// DenseView: elements of a dense tensor, or of a slice of it, where they stand.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frontend/slice.h"
#include "weft/tensor.h"

namespace weft {

/// Keeps the values of its tensor alive. The element at coordinates c is values[offset + sum of c[m] * strides[m]].
struct DenseView {
  Scalar scalar = Scalar::f64;
  Buffer values;
  std::vector<std::uint64_t> extents;
  std::vector<std::int64_t> strides;
  std::uint64_t offset = 0;

  double at(std::span<const std::uint64_t> coordinates) const;
  bool empty() const;
};

/// What is selected of a tensor whose levels are all dense. Modes that the selection drops are gone.
DenseView dense_view(const Tensor& tensor, const std::vector<Selected>& selected);

/// A row-major tensor of a view's elements. Resource error naming `name`; cancelled.
Expected<Tensor> materialised(const DenseView& view, const Resources& resources, std::string_view name);

}  // namespace weft
