// Widths of the coordinates that workspaces store, and whether every program's are wide enough.
#pragma once

#include "engine/lower/lower.h"
#include "engine/lower/nest.h"

namespace weft {

/// The nest with workspaces whose levels have coordinates as wide as their extents need: all modes of a key as the widest.
/// What is bound has the widths of the schedule.
Nest with_workspace_widths(Nest nest, const Network& network);

/// Every level of every storage holds the coordinates of its index. Internal error naming the storage.
Expected<void> check_widths(const LoweredNest& nest, const Network& network);

}  // namespace weft
