// How much of the operands a kernel may know.
#pragma once

#include <cstdint>

namespace weft {

/// What code is made for. Whatever it assumes is checked when tensors are bound; where something does not hold, a more
/// general kernel takes its place, and results are the same but for the order of floating-point sums.
enum class Specialization : std::uint8_t {
  generic,    ///< formats alone: one kernel for all sizes and patterns, as far as it can be proven correct without more
  profiled,   ///< also extents of vector and short dense loops, full levels, finite values
  baked,      ///< also the coordinates of small sparse operands, unrolled into the code; values may change
  automatic,  ///< one of these, by the expected number of calls (choose_specialization)
};

}  // namespace weft
