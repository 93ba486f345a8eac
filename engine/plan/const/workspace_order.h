// Workspace order: the nest whose largest workspace has the fewest dimensions, whatever it costs (CoNST).
#pragma once

#include <cstdint>
#include <string>

#include "engine/plan/search/planned.h"

namespace weft {

/// The objective of Raje et al. (TACO 2024): l = 1, 2, … until the system of order_system.h has a solution, which is
/// then carried out as it stands. The tree is the pinned one, else the binary tree of least estimated work (the paper
/// takes a tree as given). Values of l below least_workspace_order() need no solver: no fusion of the tree reaches them.
/// Producer "z3"; optimal "tree" if every smaller l is impossible for the tree, "false" if the solver's effort ended
/// before it was known or if the nests of a smaller l were not legal (beside NaN and Inf).
///
/// Beyond the paper: among the solutions for l one that converts no operand is taken, if there is one. Dense operands
/// are read in any order, as its dense workspaces are, and never converted.
///
/// One assignment of one term. Input error where pinned layouts contradict each other for every l, naming the
/// constraints; unsupported where one layout cannot serve all uses of an operand or where Z3 is missing; resource
/// error as plan().
Expected<Plan> plan_workspace_order(const Problem& problem);

/// One sentence about a plan with this objective: the dimensions of its largest workspace, and the least l.
std::string explain_workspace_order(const Plan& plan);

}  // namespace weft
