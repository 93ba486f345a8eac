// Operands opened in place: leading compressed levels made dense, so that a search becomes a table lookup, while all
// arrays below them stay (runtime/open_levels.h). Far cheaper than a conversion to another order of modes.
#pragma once

#include <vector>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/search/search.h"

namespace weft {

/// Opening operands makes no schedule that was looked at so many times cheaper: others are not tried.
inline constexpr double most_gained_by_opening = 1.75;

/// No operand is opened for less, per call; infinite where none can be.
double least_opening_ns(const std::vector<OperandFacts>& operands, const PlanOptions& options);

/// The schedule with those operands opened in place that make it cheaper, each as far as pays; loops and everything
/// else stay. Operands that are pinned, dense already or converted to another order of modes stay too.
Candidate with_open_layouts(Candidate candidate, const Problem& problem);

}  // namespace weft
