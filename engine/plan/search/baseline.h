// Schedules that are there without a search.
#pragma once

#include <vector>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// Unfused, in stored order, sparse operands in discordant order converted: one n-ary product, or one nest per product
/// of a pinned tree. Legal whenever that tree is; the n-ary product always is.
Schedule baseline(const Problem& problem);

/// For a later assignment that reads it beside NaN or Inf: the baseline of one assignment with every intermediate in compressed levels,
/// or a single entry, so that absent stays absent all the way to the result. Its own format is for the options to ask for.
Schedule baseline_with_known_entries(const Problem& problem);

}  // namespace weft
