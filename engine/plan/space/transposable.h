// Dense operands whose rows no loop can go along as they are stored, and the order of their modes that lets one.
//
// Any order of the loops reaches the entries of a dense operand. What it cannot have is vector code along an index that is not the
// last of it: where sparse operands filter the last one, as in O(i,k) = B(i,j) * A(k,j), all loops over A are gathers (2.4 to 3.6 ms
// instead of 0.7 to 0.9 for 60,000 entries and 64 rows).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/problem.h"

namespace weft {

struct Transposable {
  TensorId tensor = 0;
  std::uint32_t last = 0;  ///< the mode that should be adjacent in memory
  bool operator==(const Transposable&) const = default;
};

/// Dense operands of the first assignment with an index that may become vector code, but not the last of any of their accesses:
/// A(k,j) where a sparse M(i,j) filters j, and k is nowhere else. None where accesses of an operand want different orders, and none
/// whose layout is pinned.
std::vector<Transposable> transposable_operands(const Problem& problem);

}  // namespace weft
