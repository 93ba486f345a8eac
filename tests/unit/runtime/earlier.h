// The order of coordinates in maps of tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft::reference {

/// Lexicographic, in a loop of its own: unoptimised and under AddressSanitizer, comparing vectors takes most of the time of tests
/// that collect entries in maps.
struct Earlier {
  bool operator()(const std::vector<std::uint64_t>& one, const std::vector<std::uint64_t>& other) const {
    const std::uint64_t* const left = one.data();
    const std::uint64_t* const right = other.data();
    const std::size_t both = std::min(one.size(), other.size());
    for (std::size_t n = 0; n < both; ++n) {
      if (left[n] != right[n]) return left[n] < right[n];
    }
    return one.size() < other.size();
  }
};

}  // namespace weft::reference
