// Planning several assignments: which are stored, and a plan for each that is.
#pragma once

#include <functional>

#include "engine/plan/plan.h"

namespace weft {

/// plan() or plan_unfused() of one assignment.
using AssignmentPlanner =
    std::function<Expected<Plan>(const Network&, const std::vector<OperandFacts>&, const PlanOptions&)>;

/// The cheapest plan of a network of several assignments among those that
///  * store every assignment,
///  * write what is read once into its reader, so that the planner fuses across the two or stores what is between, and
///    store what is read more often,
///  * write everything that nobody asked for into its readers (always legal beside NaN and Inf).
/// Wanted results are stored once, read by later assignments as dense operands, in loop nests of their own. What is
/// neither wanted nor read is not computed. A product that is inlined and cannot be merged with its reader (it is
/// larger than most_merged_factors, or parenthesised) keeps the tree that is best for it alone, unless no plan with it is
/// legal beside NaN and Inf.
Expected<Plan> plan_forest(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options,
                           const AssignmentPlanner& planner);

}  // namespace weft
