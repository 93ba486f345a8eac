// A schedule lowered and interpreted: what its loop programs mean, without generated code.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/loop/interpret.h"
#include "engine/lower/lower.h"
#include "oracle/einsum.h"

namespace weft::test {

/// Runs one program: the interpreter, or native code.
using ProgramRunner =
    std::function<Expected<std::map<std::string, loop::Entries>>(const loop::Program&, const loop::Interpretation&)>;

/// The network's result by coordinates in mode order; entries that the runner leaves out are left out. `operands` by
/// tensor of the network, in mode order, duplicates summed.
Expected<CoordinateMap> evaluated(const Schedule& schedule, const Network& network,
                                  const std::vector<LoweredNest>& nests, const std::vector<CoordinateMap>& operands,
                                  const ProgramRunner& run);
/// What is stored after the last program, by tensor of the schedule and in its storage order. `network` is that of
/// scheduled_network().
Expected<std::vector<loop::Entries>> evaluated_tensors(const Schedule& schedule, const Network& network,
                                                       const std::vector<LoweredNest>& nests,
                                                       const std::vector<CoordinateMap>& operands,
                                                       const ProgramRunner& run);
Expected<CoordinateMap> interpreted(const Schedule& schedule, const Network& network,
                                    const std::vector<LoweredNest>& nests, const std::vector<CoordinateMap>& operands);

/// Equal but for zeros that only one side stores: a dense result has an entry everywhere.
bool equal_values(const CoordinateMap& left, const CoordinateMap& right);

}  // namespace weft::test
