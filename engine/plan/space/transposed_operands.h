// Dense operands whose rows no loop can go along: which other order of their modes is worth planning for.
//
// The search keeps dense operands as they are given, for any order of the loops reaches their entries. What it cannot have then is
// vector code along an index that is not the last of its operand: where sparse operands filter the last one, as in
// O(i,k) = B(i,j) * A(k,j), all loops over A are gathers (2.4 to 3.6 ms instead of 0.7 to 0.9 for 60,000 entries and 64 rows).
#pragma once

#include <vector>

#include "engine/plan/schedule/statements.h"

namespace weft {

/// Facts as if some dense operands were given with their modes in another order, in which the last is an index that no sparse
/// operand filters (and, with strict floating point, nothing sums over): all that have one together, then each alone. Nothing
/// where every dense operand has such an index last, or is pinned. Of one assignment.
std::vector<std::vector<OperandFacts>> transposed_operands(const Problem& problem);

/// A schedule for such facts, for those that are given: what was transposed is converted.
Schedule with_transposed(Schedule schedule, const std::vector<OperandFacts>& operands);

/// Nanoseconds that the conversions take each call.
double transposing_ns(const std::vector<OperandFacts>& transposed, const std::vector<OperandFacts>& operands, const PlanOptions& options);

}  // namespace weft
