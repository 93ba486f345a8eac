// Products of two operands in layouts: of sparse matrices in every pair of them, of tensors and a matrix with what comes before the kernel.
#pragma once

#include <string>
#include <vector>

#include "bench/data.h"
#include "weft/engine.h"

namespace weft::bench {

/// A line per layout of A, a column per layout of B, in milliseconds: a tenth of 512 x 512 entries each, drawn; "products" among the
/// filters. All are compared with ==.
Expected<void> measure_products(const Engine& engine, const std::vector<std::string>& filters);

/// Products of a matrix by rows with one of nine diagonals, as planned for one call (B is located where A is walked) and for a thousand,
/// in milliseconds a call, and beside them the time to copy B into rows. "diagonals" among the filters.
Expected<void> measure_diagonals(const Engine& engine, const std::vector<std::string>& filters);

/// `Y(i,j,r) = T(i,j,k) * M(k,r)` with Y at positions of its own, T in layouts, and milliseconds of planning, generating and emitting.
Expected<void> measure_tensors(const Engine& engine, Data& data, const std::vector<std::string>& filters);

}  // namespace weft::bench
