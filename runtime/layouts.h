// Tensors in other layouts, converted once for all who ask, and filled anew when only values have changed.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/tensor.h"

namespace weft {

/// What it took to lay a tensor out.
enum class LayoutOrigin : std::uint8_t {
  given,     ///< it has the format
  known,     ///< converted before, and nothing has changed since
  refilled,  ///< the pattern was converted before: values alone were gathered
  made,      ///< converted
};

struct LaidOut {
  Tensor tensor;
  LayoutOrigin origin = LayoutOrigin::given;
};

/// convert(), remembered with the tensor: the pattern for all tensors over it, the values until values_changed(). What is
/// remembered is charged, and given back when the account has no room left. When values change over a layout, the permutation
/// that leads there is made once, by converting the numbers of the elements, and kept: from then on values are gathered, in
/// parallel, into the memory that they had. `changes`: make it at once. Where values decide the pattern (a dense level whose
/// zeros are left out) tensors are converted as a whole. `spare`: a layout that its caller has no use for any more, whose memory
/// the values may take. Unlike for convert(), zeros that building the tensor added are entries (Tensor::padded), as they are to a
/// kernel that reads the layout itself: a sparse result has one structure, however its operands are read. Any thread; two that
/// ask for the same wait for each other.
Expected<LaidOut> laid_out(const Tensor& tensor, const Format& format, bool changes, const Resources& resources,
                           std::string_view name, Tensor spare = {});

/// The pattern of a tensor, without values, in arrays that last as long as it does. Of those that are the host's a copy is made once for
/// all who ask, kept with what is known of the pattern, and given back as layouts are; a tensor without any is its own.
Expected<Tensor> owned_pattern(const Tensor& tensor, const Resources& resources, std::string_view name);
/// The same in arrays that nothing else has: of a tensor into whose arrays the host may write.
Expected<Tensor> copied_pattern(const Tensor& tensor, const Resources& resources, std::string_view name);

/// A tensor whose entries stand in another order than its values.
struct PlacedTensor {
  Tensor tensor;       ///< in the format asked for, with the values, and what is known of them, of the tensor as it was given
  Buffer places;       ///< by position 1 + the element of the values' array
  unsigned bits = 32;  ///< of a place; 64 where 32 do not suffice
  LayoutOrigin origin = LayoutOrigin::given;
};

/// The same as laid_out() without moving values: the permutation stands beside them, for kernels that read through it, and nothing is
/// to be done when they change. Where it does not suffice (values decide the pattern, have another type, or positions have none), or
/// memory does not for the numbers that it is made of, values are converted, and places count them in order. The last level is
/// compressed, nonunique or singleton.
Expected<PlacedTensor> laid_out_through_places(const Tensor& tensor, const Format& format, bool changes, const Resources& resources,
                                               std::string_view name);

}  // namespace weft
