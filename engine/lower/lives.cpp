#include "engine/lower/lives.h"

#include <algorithm>

namespace weft {

std::vector<WorkspaceLife> workspace_lives(const Nest& nest) {
  std::vector<WorkspaceLife> lives;
  for (loop::StorageId storage = 0; storage < nest.storages.size(); ++storage) {
    if (nest.storages[storage].storage.role != loop::Role::workspace) continue;
    WorkspaceLife life{storage, 0, nest.statements.size(), 0};
    for (std::size_t number = 0; number < nest.statements.size(); ++number) {
      const NestStatement& statement = nest.statements[number];
      const bool uses = statement.target.storage == storage ||
                        std::ranges::find(statement.factors, storage, &NestAccess::storage) != statement.factors.end();
      if (!uses) continue;
      life.first = std::min(life.first, number);
      life.last = number;
    }
    life.depth = shared_loops(nest.statements, life.first, life.last);
    lives.push_back(life);
  }
  return lives;
}

}  // namespace weft
