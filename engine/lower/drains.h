// Targets whose loops are not in the order they are appended in: summed in a workspace, then drained in order.
#pragma once

#include "engine/lower/nest.h"

namespace weft {

/// Where a statement adds to a target with compressed levels whose order the loops do not follow, as in
/// `for i: for k: for j: A[i,j] += B * C`, the modes from the first one out of order on are summed in a workspace:
/// `for i: with w[j]: { for k: for j: w += B * C; for j: A += w }`. Its key are these modes up to the target's last
/// compressed level; the dense levels below stay a block of values per key. Only statements that say `drained`.
Nest with_drains(Nest nest);

/// How many leading loops of a statement bind the leading levels of its target in order.
std::size_t levels_in_order(const NestStatement& statement);

/// An output with compressed levels of its own, which are appended to.
bool is_appended(const NestStorage& storage);

}  // namespace weft
