// Batches: products of two rows that iterations of a loop add to one block, several of them together. Pure functions of a Program.
//
// In A(i,r,s) = T(i,j,k) * B(j,r) * C(k,s) every j of a row adds B[j,r] * x[s] to the same block A[i,*,*]: R x S elements are read and
// written for as many multiplications. Marked @batch(n), the loop over j keeps the rows of up to n iterations and adds them in one pass
// over the block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/loop/program.h"

namespace weft::loop {

/// for r: for s: A += c * u * w, the last statement of a loop that A's block does not depend on.
struct BatchedProduct {
  const For* rows = nullptr;        ///< the outer loop of the nest
  std::vector<const For*> columns;  ///< those inside it, outermost first
  const Accumulate* sum = nullptr;
  std::vector<AccessId> row_factors;     ///< those with the index of `rows`
  std::vector<AccessId> column_factors;  ///< those with indices of `columns`
};

/// The product that a loop marked @batch keeps the rows of, or what is in the way; `bound`: levels of each access that are bound around
/// the loop.
Expected<BatchedProduct> batched_product(const Program& program, const For& each, std::span<const std::uint32_t> bound);

}  // namespace weft::loop
