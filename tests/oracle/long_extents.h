// Extents beyond what 32 bits, or memory, can hold: at the limits of 32-bit numbers with and without a sign, and far above.
#pragma once

#include <array>
#include <cstdint>

namespace weft::test {

constexpr std::uint64_t two_to(unsigned power) { return std::uint64_t{1} << power; }

inline constexpr std::array long_extents = {two_to(31) - 1, two_to(31), two_to(31) + 1, two_to(32) - 1, two_to(32),
                                            two_to(32) + 1, two_to(40), two_to(62),     two_to(33) + 7};

/// Whether no level over such an extent may be dense.
constexpr bool is_long(std::uint64_t extent) { return extent >= long_extents.front(); }

}  // namespace weft::test
