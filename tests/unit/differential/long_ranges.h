// Loops over all of a long extent: nothing that is drawn ever ends there.
#pragma once

#include <thread>

#include "engine/plan/plan.h"
#include "weft/memory.h"

namespace weft::test {

/// Layouts that are pinned may leave a loop without anything that drives it: it goes over all of 2^32 coordinates, if what is
/// around it ever runs.
bool goes_over_long_ranges(const Schedule& schedule, const Network& network);

/// Cancels a run that goes over all of a long extent: of kernels whose schedule is not at hand. Two seconds from when it is made.
class Patience {
 public:
  Patience();
  const Cancellation* over() const { return &over_; }

 private:
  Cancellation over_;
  std::jthread waiting_;
};

}  // namespace weft::test
