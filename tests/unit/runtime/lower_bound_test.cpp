// The searches that kernels call for the two ends of a chunk.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "runtime/abi.h"

namespace lower_bound_test {

using namespace weft;

TEST_CASE("the first position whose coordinate is not below another, within a range") {
  const std::vector<std::uint32_t> narrow = {9, 2, 2, 5, 7, ~0u, 0};
  const std::vector<std::uint64_t> wide(narrow.begin(), narrow.end());
  const auto both = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t coordinate, std::uint64_t position) {
    CHECK(weft_lower_bound_32(narrow.data(), begin, end, coordinate) == position);
    CHECK(weft_lower_bound_64(wide.data(), begin, end, coordinate) == position);
  };
  both(1, 6, 0, 1);
  both(1, 6, 2, 1);
  both(1, 6, 3, 3);
  both(1, 6, 7, 4);
  both(1, 6, 8, 5);
  both(1, 6, std::uint64_t{1} << 32, 6);
  both(2, 2, 0, 2);
}

}  // namespace lower_bound_test
