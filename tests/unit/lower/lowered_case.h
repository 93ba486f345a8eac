// A network in single letters, a schedule as text, and what becomes of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/lower/lower.h"
#include "oracle/einsum.h"

namespace weft::test {

/// "T ijk" is a tensor T with the indices i, j, k; "s" a scalar.
struct Case {
  std::map<char, std::uint64_t> extents;
  std::string result;
  std::vector<std::string> factors;
  std::string schedule;  ///< without the lines "schedule" and "tree"
  double coefficient = 1;
  CacheBytes caches = {};
};

Network network_of(const Case& given);
Expected<Schedule> schedule_of(const Case& given);
/// All operands count as finite.
Expected<std::vector<LoweredNest>> lowered(const Case& given);
/// The programs as text, one after the other; the message of an error.
std::string programs(const Case& given);

/// The first program, where fibers of the first tensor have so many entries in the mean, by level.
std::string program_with_means(const Case& given, const std::vector<double>& means);

/// Empty if lowering works, the programs compute the network's product, the interpreted result is the oracle's for
/// small random tensors of several densities, and the text of every program parses back to it; else what is wrong.
std::string defect(const Case& given);

}  // namespace weft::test
