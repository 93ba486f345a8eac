// What a counting run counted, beside what was predicted.
#pragma once

#include "engine/compiled_network.h"
#include "engine/plan/explained.h"

namespace weft {

/// The explanation of the plan that `kernel` was made from, with the iterations that `binding`, of that counting kernel,
/// counted in one run. Loops that lowering added are left out; a loop of the schedule that became several is their sum.
Explanation with_counts(Explanation predicted, const CompiledNetwork& kernel, const BoundNetwork& binding);

}  // namespace weft
