// Partial sums: indices that only one operand has are summed before it is co-iterated with the others.
#pragma once

#include <vector>

#include "engine/plan/schedule/contractions.h"

namespace weft {

/// Contractions like these in which some operands are summed first over the indices that no other
/// factor of their step and not its target has, each by a step with one factor: paths O[a,b] = V[i,a,j] * W[j,b,k]
/// walk i and k once, x[a,j] += V[i,a,j], y[j,b] += W[j,b,k], instead of once for every pair. Such steps stand right
/// before their reader, or before all. Every choice of up to three operands, else none, one or all of them. The
/// first is what is given, alone where a tree is given, by the options or by parentheses, which is contracted as it says,
/// and under strict floating point, which does not take sums apart.
std::vector<Contractions> with_partial_sums(Contractions plain, const Network& network, const PlanOptions& options);

/// All that the planner chooses from for a tree and an order of its steps: with partial sums, and for each of them what
/// with_sparse_intermediates() says.
std::vector<Contractions> contraction_variants(Contractions plain, const Problem& problem, bool every_order, bool unfused = false);

}  // namespace weft
