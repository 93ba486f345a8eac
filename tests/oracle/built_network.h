// A random network with its tensors built: everything the planner and the engine ask for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/plan/plan.h"
#include "oracle/random_network.h"

namespace weft::test {

struct BuiltNetwork {
  Network network;
  std::map<std::string, Tensor> tensors;  ///< operands by name
  std::vector<OperandFacts> facts;        ///< in the order of Network::tensors
  std::vector<CoordinateMap> entries;     ///< by tensor of the network, in mode order; empty for the result
};

/// Parses, resolves and builds; every tensor passes verify().
Expected<BuiltNetwork> built(const RandomNetwork& random, const Resources& resources);

/// Lowered, compared with the network factor by factor, and interpreted; all operands are finite.
Expected<CoordinateMap> interpreted(const Schedule& schedule, const BuiltNetwork& built);

/// The stored entries of a tensor by coordinates in mode order.
Expected<CoordinateMap> entries_of(const Tensor& tensor, const Resources& resources);

}  // namespace weft::test
