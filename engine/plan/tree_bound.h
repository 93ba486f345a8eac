// A bound for whole contraction trees, before anything is decided about loops.
#pragma once

#include "engine/plan/statements.h"

namespace weft {

/// No schedule of the tree takes less, conversions not counted: every statement runs its body once per combination of
/// its indices that all sparse factors of the term let through, on all threads. Operands whose conversion takes less
/// than `below_ns` may have their modes bound in any order. Holds for every layout and every order of statements, before
/// any model is made; CostModel::least_ns() is the closer bound of one choice of those.
double least_tree_ns(const Network& network, const ContractionTree& tree, const std::vector<OperandFacts>& operands,
                     const PlanOptions& options, double below_ns);

}  // namespace weft
