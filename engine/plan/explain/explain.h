// explain(): a plan as text.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/search/planned.h"

namespace weft {

/// Several lines for people: tree, nest, layouts (kept or converted, why), workspaces with bytes, iterations, flops,
/// bytes and time per loop, memory, the runner-up and why it lost.
std::string explain(const Plan& plan, const Problem& problem);

}  // namespace weft
