// The plan that the chosen one is compared with.
#pragma once

#include <string>

#include "engine/plan/search/planned.h"

namespace weft {

/// One sentence: what a plan's runner-up, which it must have, takes more, and the first line of its schedule that differs.
std::string why_it_lost(const Plan& plan, const Network& network);

}  // namespace weft
