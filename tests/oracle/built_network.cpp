#include "oracle/built_network.h"

#include "oracle/interpreted.h"
#include "oracle/substituted.h"
#include "runtime/indices.h"

namespace weft::test {

Expected<BuiltNetwork> built(const RandomNetwork& random, const Resources& resources) {
  BuiltNetwork result;
  for (const RandomOperand& operand : random.operands) {
    auto tensor = tensor_of(operand, resources);
    if (!tensor) return std::unexpected(tensor.error());
    if (const auto good = verify(*tensor, resources, operand.name); !good) return std::unexpected(good.error());
    result.tensors.emplace(operand.name, std::move(*tensor));
  }
  auto network = network_of(random);
  if (!network) return std::unexpected(network.error());
  result.network = std::move(*network);
  result.entries.resize(result.network.tensors.size());
  for (TensorId id = 0; id < result.network.tensors.size(); ++id) {
    for (const RandomOperand& operand : random.operands) {
      if (operand.name != result.network.tensors[id].name) continue;
      const Tensor& tensor = result.tensors.at(operand.name);
      result.facts.push_back(
          {id, tensor.format(), statistics(tensor, resources.threads), tensor.bytes(), operand.pinned});
      result.entries[id] = summed(operand);
      // A scalar has its one value, whatever was given.
      if (operand.extents.empty()) result.entries[id].try_emplace({}, 0);
    }
  }
  return result;
}

Expected<CoordinateMap> interpreted(const Schedule& schedule, const BuiltNetwork& built) {
  const auto nests = lower(schedule, built.network, std::vector<bool>(schedule.tensors.size(), true));
  if (!nests) return std::unexpected(nests.error());
  const std::string difference = difference_from_network(schedule, built.network, *nests);
  if (!difference.empty()) return internal_error("the programs do not compute the network: " + difference);
  return interpreted(schedule, built.network, *nests, built.entries);
}

Expected<CoordinateMap> entries_of(const Tensor& tensor, const Resources& resources) {
  const auto listed = entries(tensor, false, resources);
  if (!listed) return std::unexpected(listed.error());
  CoordinateMap result;
  for (std::uint64_t n = 0; n < listed->count; ++n) {
    std::vector<std::uint64_t> coordinates;
    for (std::size_t mode = 0; mode < listed->crd.size(); ++mode) {
      coordinates.push_back(Indices(listed->crd[mode], coordinate_bits(listed->extents[mode]))[n]);
    }
    result[coordinates] =
        listed->scalar == Scalar::f64 ? listed->values.as<double>()[n] : listed->values.as<float>()[n];
  }
  return result;
}

}  // namespace weft::test
