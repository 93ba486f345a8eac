// Planning several assignments: which are stored, and a plan for each that is.
#pragma once

#include <functional>

#include "engine/plan/plan.h"

namespace weft {

/// plan() or plan_unfused() of one assignment.
using AssignmentPlanner =
    std::function<Expected<Plan>(const Network&, const std::vector<OperandFacts>&, const PlanOptions&)>;

/// The cheapest plan of a network of several assignments, over
///  * which results that nobody asked for are stored: of up to four every choice, of more those that store every
///    assignment, what is read often, or nothing. The others are written into the products that read them, so that the
///    planner fuses across them or stores what is between (always legal beside NaN and Inf);
///  * with `layouts`, in which layouts results that nobody asked for are stored, and which copies of operands several
///    assignments share (joint_parts.h).
/// Stored results are read by later assignments as operands, in loop nests of their own. What is neither wanted nor read
/// is not computed. A product that is inlined and cannot be merged with its reader (it is larger than
/// most_merged_factors, or parenthesised) keeps the tree that is best for it alone, unless no plan with it is legal
/// beside NaN and Inf.
Expected<Plan> plan_forest(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options,
                           const AssignmentPlanner& planner, bool layouts);

/// What the sentence about a proof begins with where fused plans were not looked at.
inline constexpr const char* among_unfused = "Only plans that store every intermediate between nests were compared. ";

}  // namespace weft
