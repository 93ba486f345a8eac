// IndexPart: a quotient, a remainder, or both, of an index: j / 4 % 2. One meaning for networks, layouts and loops.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace weft {

/// index / divisor % modulus.
struct IndexPart {
  std::uint64_t divisor = 1;
  std::uint64_t modulus = 0;  ///< 0: no remainder is taken
  auto operator<=>(const IndexPart&) const = default;

  bool is_whole() const { return divisor == 1 && modulus == 0; }
  std::uint64_t coordinate(std::uint64_t of_index) const {
    const std::uint64_t quotient = of_index / divisor;
    return modulus == 0 ? quotient : quotient % modulus;
  }
  /// The coordinates that come of those below an extent: ceil(extent / divisor), at most `modulus`.
  std::uint64_t extent(std::uint64_t of_index) const {
    const std::uint64_t quotients = of_index / divisor + (of_index % divisor != 0 ? 1 : 0);
    return modulus == 0 || quotients < modulus ? quotients : modulus;
  }
  /// Behind the name of an index: "/4%2", "" of a whole one.
  std::string text() const {
    std::string text;
    if (divisor != 1) text += "/" + std::to_string(divisor);
    if (modulus != 0) text += "%" + std::to_string(modulus);
    return text;
  }
};

}  // namespace weft
