// Alternatives, chosen around loops and fusion: tree, order of the statements, and which accesses read converted operands.
#pragma once

#include "engine/plan/space/alternative.h"

namespace weft {

struct AlternativeChoice {
  std::vector<Alternative> alternatives;
  bool complete = true;  ///< there were no more than `most`, and the trees were all
};

/// Every tree, depth-first order of statements, set of converted accesses and choice of dense levels.
AlternativeChoice all_alternatives(const Problem& problem, std::size_t most);

}  // namespace weft
