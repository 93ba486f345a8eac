#include "oracle/interpreted.h"

#include <algorithm>

namespace weft::test {
namespace {

std::vector<std::uint64_t> by_level(const std::vector<std::uint64_t>& by_mode, const Format& format) {
  std::vector<std::uint64_t> result;
  for (const std::uint32_t mode : format.mode_order) result.push_back(by_mode[mode]);
  return result;
}

std::vector<std::uint64_t> by_mode(const std::vector<std::uint64_t>& by_level, const Format& format) {
  std::vector<std::uint64_t> result(by_level.size());
  for (std::size_t level = 0; level < by_level.size(); ++level) result[format.mode_order[level]] = by_level[level];
  return result;
}

}  // namespace

Expected<std::vector<loop::Entries>> evaluated_tensors(const Schedule& schedule, const Network& network,
                                                       const std::vector<LoweredNest>& nests,
                                                       const std::vector<CoordinateMap>& operands,
                                                       const ProgramRunner& run) {
  // By tensor of the schedule, in storage order.
  std::vector<loop::Entries> stored(schedule.tensors.size());
  for (std::size_t number = 0; number < stored.size(); ++number) {
    const ScheduledTensor& tensor = schedule.tensors[number];
    if (tensor.role != TensorRole::operand) continue;
    for (const auto& [coordinates, value] : operands[tensor.tensor]) {
      stored[number][by_level(coordinates, tensor.format)] = value;
    }
  }
  for (const LoweredNest& nest : nests) {
    loop::Interpretation values;
    values.coefficients = nest.coefficients;
    for (std::size_t index = 0; index < nest.indices.size(); ++index) {
      values.extents[nest.program.indices[index]] = network.indices[nest.indices[index]].extent;
    }
    for (const loop::IndexDefinition& each : nest.program.definitions)
      values.extents[nest.program.indices[each.index]] =
          loop::given_extent(each, values.extents[nest.program.indices[each.of.front().index]]);
    for (std::size_t storage = 0; storage < nest.tensors.size(); ++storage) {
      if (nest.program.storages[storage].role != loop::Role::input) continue;
      values.inputs[nest.program.storages[storage].name] = stored[nest.tensors[storage]];
    }
    const auto outputs = run(nest.program, values);
    if (!outputs) return std::unexpected(outputs.error());
    for (std::size_t storage = 0; storage < nest.tensors.size(); ++storage) {
      if (nest.program.storages[storage].role != loop::Role::output) continue;
      stored[nest.tensors[storage]] = outputs->at(nest.program.storages[storage].name);
    }
  }
  return stored;
}

Expected<CoordinateMap> evaluated(const Schedule& schedule, const Network& network,
                                  const std::vector<LoweredNest>& nests, const std::vector<CoordinateMap>& operands,
                                  const ProgramRunner& run) {
  const auto stored = evaluated_tensors(schedule, network, nests, operands, run);
  if (!stored) return std::unexpected(stored.error());
  const auto result = std::ranges::find(schedule.tensors, TensorRole::result, &ScheduledTensor::role);
  if (result == schedule.tensors.end()) return internal_error("the schedule has no result");
  CoordinateMap by_modes;
  for (const auto& [coordinates, value] : (*stored)[static_cast<std::size_t>(result - schedule.tensors.begin())]) {
    by_modes[by_mode(coordinates, result->format)] = value;
  }
  return by_modes;
}

Expected<CoordinateMap> interpreted(const Schedule& schedule, const Network& network,
                                    const std::vector<LoweredNest>& nests, const std::vector<CoordinateMap>& operands) {
  return evaluated(schedule, network, nests, operands, loop::interpret);
}

bool equal_values(const CoordinateMap& left, const CoordinateMap& right) {
  auto covers = [](const CoordinateMap& one, const CoordinateMap& other) {
    return std::ranges::all_of(one, [&](const auto& entry) {
      const auto place = other.find(entry.first);
      return entry.second == (place == other.end() ? 0 : place->second);
    });
  };
  return covers(left, right) && covers(right, left);
}

}  // namespace weft::test
