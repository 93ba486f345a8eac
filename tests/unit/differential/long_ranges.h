// Loops over all of a long extent: nothing that is drawn ever ends there.
#pragma once

#include "engine/plan/plan.h"

namespace weft::test {

/// Layouts that are pinned may leave a loop without anything that drives it: it goes over all of 2^32 coordinates, if what is
/// around it ever runs.
bool goes_over_long_ranges(const Schedule& schedule, const Network& network);

}  // namespace weft::test
