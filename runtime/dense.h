// Dense tensors in other layouts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/tensor.h"

namespace weft {

/// An all-dense tensor (strided or not) in another all-dense format, element by element in parallel.
Expected<Tensor> permuted_dense(const Tensor& tensor, const Format& format, const Resources& resources,
                                std::string_view name);

/// memory = alpha * tensor + beta * memory, as BLAS has it: with beta = 0 what was there is not read, with alpha = 0 the
/// tensor is not.
struct Scaling {
  double alpha = 1;
  double beta = 0;
  bool operator==(const Scaling&) const = default;
};

/// The elements of a tensor, zeros where it has none, into dense memory that somebody else owns, strided or not, of the same
/// extents; what lies between its elements is not touched. Resource error, or cancelled, where `tensor` has to be made dense
/// first.
Expected<void> write_dense(const Tensor& tensor, Tensor memory, const Resources& resources, std::string_view name,
                           Scaling scaling = {});

/// The elements of dense memory, strided or not, times a factor: 0 is stored without reading what was there. On the threads
/// that are given, or on the caller's alone.
void scale_dense(const Tensor& memory, double factor, const Threads* threads);

/// The distance of neighbours, in elements, by mode of a dense tensor.
std::vector<std::uint64_t> strides_by_mode(const Tensor& tensor);

/// Whether the elements of a dense tensor lie as a contiguous one of this format has them, from its offset on.
bool is_packed(const Tensor& tensor, const Format& format);

}  // namespace weft
