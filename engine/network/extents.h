// The same network over operands of other sizes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/network/network.h"

namespace weft {

/// The network with these extents of operands (by mode, of the same orders), and the extents of indices and results that
/// follow from them. Operands that are not named keep theirs. Input error where an index has two extents.
Expected<Network> with_extents(const Network& network, const std::map<TensorId, std::vector<std::uint64_t>>& operands);

}  // namespace weft
