// Problems over extents beyond what 32 bits, or memory, can hold.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "unit/plan/networks.h"

namespace weft::plan_test {

/// Every how manyeth of the random problems is stretched.
constexpr bool is_stretched(unsigned seed) { return seed % 5 == 4; }

/// One of 2^31 - 1, 2^31, 2^31 + 1, 2^32 - 1, 2^32, 2^32 + 1, 2^40, 2^62.
std::uint64_t long_extent(std::mt19937& random);

/// The format with dense and bitmap levels over long extents made compressed and hashed, and all wide enough.
Format sparse_where_long(Format format, const std::vector<std::uint64_t>& extents);

/// The problem with some of its extents made long, at least one where any may be; those of an asked-for result that is
/// all dense stay. Indices of one extent stay of one. Operands keep their numbers of entries.
OwnedProblem stretched(OwnedProblem made, std::mt19937& random);

}  // namespace weft::plan_test
