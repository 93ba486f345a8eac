// Layouts that tensors of several assignments may have.
#pragma once

#include <vector>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

struct SharedLayouts {
  std::vector<Format> formats;
  bool all = true;  ///< beyond three modes only those that are named elsewhere
};

/// What conversions of an operand can make of it: every order of its modes, with every number of leading dense levels
/// that the search prices; not the layout that it has.
SharedLayouts operand_layouts(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands);

/// How the result of a network of one assignment may be stored without a request: every order of its modes. Without the
/// plain order of a dense result, and without any where the result takes the positions of an operand.
SharedLayouts result_layouts(const Problem& problem);

}  // namespace weft
