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
/// the values may take. Any thread; two that ask for the same wait for each other.
Expected<LaidOut> laid_out(const Tensor& tensor, const Format& format, bool changes, const Resources& resources,
                           std::string_view name, Tensor spare = {});

}  // namespace weft
