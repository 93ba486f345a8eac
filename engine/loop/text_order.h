// In which order a Program's text names its storages and accesses.
#pragma once

#include <vector>

#include "engine/loop/program.h"

namespace weft::loop {

/// Positions of the text (outer vector) to ids: storages of the head by id, then workspaces as their With stands in the
/// body; accesses storage by storage. A program whose ids are 0, 1, … in this order needs no extra line in its text.
struct TextOrder {
  std::vector<StorageId> storages;
  std::vector<AccessId> accesses;
  bool natural() const;  ///< both are 0, 1, 2, …
};

TextOrder text_order(const Program& program);

/// The same program with storages and accesses renumbered: the n-th storage of the result is `order.storages[n]` of
/// `program`, the n-th access `order.accesses[n]`. Both must be permutations of all ids.
Program renumbered(const Program& program, const TextOrder& order);

/// The workspaces in the order in which their With stand in the body, outer before inner.
std::vector<StorageId> workspaces_in_order(const Block& body);

}  // namespace weft::loop
