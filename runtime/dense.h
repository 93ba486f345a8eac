// Dense tensors in other layouts.
#pragma once

#include <string_view>

#include "weft/tensor.h"

namespace weft {

/// An all-dense tensor (strided or not) in another all-dense format, element by element in parallel.
Expected<Tensor> permuted_dense(const Tensor& tensor, const Format& format, const Resources& resources,
                                std::string_view name);

/// The elements of a tensor, zeros where it has none, into dense memory that somebody else owns, strided or not, of the same
/// extents. Resource error, or cancelled, where `tensor` has to be made dense first.
Expected<void> write_dense(const Tensor& tensor, Tensor memory, const Resources& resources, std::string_view name);

/// Whether the elements of a dense tensor lie as a contiguous one of this format has them, from its offset on.
bool is_packed(const Tensor& tensor, const Format& format);

}  // namespace weft
