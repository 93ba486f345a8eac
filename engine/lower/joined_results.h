// Two results of one nest: what is summed at the positions of an operand is read where it is made.
#pragma once

#include <vector>

#include "engine/lower/nest.h"

namespace weft {

/// Nests in the order they run, of which a nest that reads what the one before it stores at the positions of an operand, entry
/// by entry below the same loops, becomes a part of that: `S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)` walks M
/// once, and each entry of S is stored and read from a register. Only where every such entry certainly is summed into (all
/// else are dense operands), and where what else is read filters nothing: so that both loops run over the same entries.
std::vector<Nest> with_joined_results(std::vector<Nest> nests, const Schedule& schedule, const Network& network);

}  // namespace weft
