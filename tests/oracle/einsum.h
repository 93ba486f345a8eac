// The oracle: a sum of products of sparse tensors by brute force over maps. Shares no code with the engine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::test {

/// Coordinates in mode order to value. What is not in the map is absent, and absent annihilates.
using CoordinateMap = std::map<std::vector<std::uint64_t>, double>;

struct OracleFactor {
  std::vector<std::string> indices;  ///< by mode; an index may repeat
  const CoordinateMap* entries = nullptr;
};

/// coefficient * product of the factors, summed over every index that is not in `result`: every coordinate at which
/// some combination of entries contributes. Joins the factors one by one, smallest first, looking entries up by the
/// indices known so far, so that the time is that of the combinations and not of the index space.
CoordinateMap einsum(const std::vector<std::string>& result, const std::vector<OracleFactor>& factors,
                     double coefficient);

}  // namespace weft::test
