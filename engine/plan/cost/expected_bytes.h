// What tensors with compressed levels are expected to take, from the distinct counts of what they are made from and from
// counted joins, which the options have.
#pragma once

#include <cstddef>

#include "engine/plan/cost/cost.h"
#include "engine/plan/schedule/statements.h"

namespace weft {

/// Of the tensor that a statement writes: as it is computed, and as it is handed over where that is another format.
/// Values alone where positions are shared. The schedule may be that of several assignments.
double expected_bytes(const Schedule& schedule, std::size_t writer, const Problem& problem);

/// Of the workspace that is drained into it, for one thread.
double drained_bytes(const Schedule& schedule, std::size_t writer, const Problem& problem);

/// Of a workspace with a key, for one thread: an intermediate that is not stored over the modes in `shared`, the loops
/// around it. Dense levels alone take what their extents say.
double keyed_bytes(const Schedule& schedule, std::size_t writer, IndexSet shared, const Problem& problem);

/// Entries that the tensor a statement writes is expected to have, and their share of all combinations.
struct ExpectedEntries {
  double entries = 0;
  double fill = 0;
};
ExpectedEntries expected_entries(const Schedule& schedule, std::size_t writer, const Problem& problem);

}  // namespace weft
