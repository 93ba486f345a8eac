// Lives of workspaces: around which statements of a nest each of them is declared.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/lower/nest.h"

namespace weft {

struct WorkspaceLife {
  loop::StorageId storage = 0;
  std::size_t depth = 0;  ///< loops around its With: those that all its statements share
  std::size_t first = 0;  ///< statement that writes it first
  std::size_t last = 0;   ///< statement that reads it last
  bool operator==(const WorkspaceLife&) const = default;
};

/// In the order of the storages.
std::vector<WorkspaceLife> workspace_lives(const Nest& nest);

}  // namespace weft
