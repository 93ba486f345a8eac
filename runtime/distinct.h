// Counting the distinct coordinates of sets of modes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "weft/statistics.h"

namespace weft {

/// Distinct tuples of levels 0 … level among the stored entries, for a level above the trailing dense ones. Exact.
std::uint64_t distinct_prefix(const Tensor& tensor, std::size_t level, const Threads& threads);

struct DistinctCount {
  double value = 0;
  bool exact = false;
};

/// Distinct tuples of several sets of LEVELS (bit l is level l) above the trailing dense ones: exact if the product of
/// the extents is at most 2^24, else estimated. One pass over the stored entries for all sets whose memory is there at once.
std::map<ModeSet, DistinctCount> distinct_counts(const Tensor& tensor, const std::vector<ModeSet>& level_sets,
                                                 const Threads& threads);

/// Moves estimates as little as needed so that for all sets S and modes x in S
///   d(S − x) <= d(S) <= d(S − x) · extent(x),
/// leaving the exact ones alone. `values` has an entry for every set; values[0] is 1 and exact. The constraints are
/// bounds on differences of logarithms, whose closure needs only the exact supersets and the sets one smaller.
void make_consistent(std::vector<double>& values, const std::vector<bool>& exact,
                     const std::vector<std::uint64_t>& extents);

}  // namespace weft
