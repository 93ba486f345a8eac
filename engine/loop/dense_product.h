// Dense products: nests of loops over dense levels that multiply two matrices, whatever stands around them. Pure functions of a Program.
//
// In C(i,k) = A(i,j) * B(j,k) the loops over i, j and k visit every element, so that their order is free but for that of each sum over j:
// elements of several rows i and columns k may be summed side by side, each element of B used for all these rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/loop/program.h"

namespace weft::loop {

/// target(row, column) += scalars * left(row, sum) * right(sum, column), inside loops over further indices.
struct DenseProduct {
  std::vector<const For*> outer;  ///< all other loops, outermost first: of a batch, of rows or columns of several indices
  const For* row = nullptr;
  const For* sum = nullptr;
  const For* column = nullptr;  ///< over the last level of the target, whose elements are adjacent
  AccessId target = 0;
  AccessId left = 0;
  AccessId right = 0;
  const Accumulate* product = nullptr;  ///< into the target, or into a workspace that is added to it
};

/// The product that the loop and all inside it are, nothing else: one accumulation, whose sums a workspace may hold, as in
/// `with w[k] { for j: for k: w += A * B; for k: C += w }`; every level that is not bound around the loop dense. `bound`: levels of each
/// access that are.
std::optional<DenseProduct> dense_product(const Program& program, const For& each, std::span<const std::uint32_t> bound);

}  // namespace weft::loop
