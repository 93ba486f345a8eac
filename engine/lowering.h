// Lowering with the finiteness of operands asked only where it matters.
#pragma once

#include <set>
#include <vector>

#include "engine/lower/lower.h"
#include "engine/plan/plan.h"

namespace weft {

/// The loop programs of a plan, and the operands whose values have to be finite for them.
struct Lowering {
  std::vector<LoweredNest> nests;
  std::set<TensorId> finite;
};

/// Made as for finite operands. Operands whose look would take more than a fiftieth of the run are then not looked at, if
/// the schedule itself is legal without. Where one that matters is not finite, all is made anew of what is known.
/// Errors as of weft::lower.
Expected<Lowering> lowering(const Network& network, const Plan& plan, std::vector<OperandFacts> operands, const LoweringFacts& more,
                            const Machine& machine);

}  // namespace weft
