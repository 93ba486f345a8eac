// Plans of schedules that are given, and the error where none fits.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/search/planned.h"

namespace weft {

/// A user's schedule, checked and judged; producer "user".
Expected<Plan> plan_given(const Schedule& schedule, const Problem& problem);

/// Resource error: a schedule of this cost is the smallest that was found, and needs more than `limit` bytes. `why`: what keeps
/// everything smaller from being chosen, a part of a sentence, or nothing.
Error too_large(const Cost& cost, std::uint64_t limit, const std::string& why = {});

}  // namespace weft
