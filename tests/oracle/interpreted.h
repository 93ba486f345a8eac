// A schedule lowered and interpreted: what its loop programs mean, without generated code.
#pragma once

#include <vector>

#include "engine/lower/lower.h"
#include "oracle/einsum.h"

namespace weft::test {

/// The network's result by coordinates in mode order; entries that were never accumulated into are left out.
/// `operands` by tensor of the network, in mode order, duplicates summed.
Expected<CoordinateMap> interpreted(const Schedule& schedule, const Network& network,
                                    const std::vector<LoweredNest>& nests, const std::vector<CoordinateMap>& operands);

/// Equal but for zeros that only one side stores: a dense result has an entry everywhere.
bool equal_values(const CoordinateMap& left, const CoordinateMap& right);

}  // namespace weft::test
