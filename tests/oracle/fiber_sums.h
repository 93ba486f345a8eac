// Products whose result has its entries, or blocks of them, at the leading levels of the one sparse operand.
#pragma once

#include <cstdint>

#include "oracle/sparse_result.h"

namespace weft::test {

/// R(i,j,r) = T(i,j,k) * A(k,r) and its like: T of order 1 to 4 in dense and compressed levels, summed below some of its levels, dense
/// factors over what is summed and what stands below, the modes of R in any order. The format that is asked for has the leading levels
/// of T, or there is none.
RequestedNetwork fiber_sum(std::uint64_t seed);

}  // namespace weft::test
