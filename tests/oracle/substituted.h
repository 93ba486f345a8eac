// Network equivalence over several programs: substituting every intermediate by what defines it gives the network.
#pragma once

#include <string>
#include <vector>

#include "engine/lower/lower.h"

namespace weft::test {

/// Empty if the nests together compute the (one) term of the network, index for index and factor for factor; else what
/// they compute.
std::string difference_from_network(const Schedule& schedule, const Network& network,
                                    const std::vector<LoweredNest>& nests);

}  // namespace weft::test
