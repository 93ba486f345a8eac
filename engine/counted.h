// What a run counted and how long its nests took, beside what was predicted.
#pragma once

#include "engine/compiled_network.h"
#include "engine/plan/explain/explained.h"

namespace weft {

/// The explanation of the plan that `kernel` was made from, with the iterations that `binding`, of that counting kernel,
/// counted in one run. Loops that lowering added are left out; a loop of the schedule that became several is their sum.
Explanation with_counts(Explanation predicted, const CompiledNetwork& kernel, const BoundNetwork& binding);

/// The same with what each nest of the kernel took, in milliseconds.
Explanation with_nest_times(Explanation predicted, const CompiledNetwork& kernel, const std::vector<double>& nest_ms);

}  // namespace weft
