#include "oracle/substituted.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "engine/loop/equivalence.h"

namespace weft::test {
namespace {

using Names = std::vector<std::string>;

/// A coefficient times factors with the indices of their modes, sorted.
struct Substituted {
  double coefficient = 1;
  std::vector<std::pair<std::string, Names>> factors;
  bool operator==(const Substituted&) const = default;
};

std::string print(const Substituted& product) {
  std::string text = fmt::format("{}", product.coefficient);
  for (const auto& [name, indices] : product.factors) text += fmt::format(" * {}({})", name, fmt::join(indices, ","));
  return text;
}

Names by_mode(const Names& by_level, const Format& format) {
  Names names(by_level.size());
  for (std::size_t level = 0; level < names.size(); ++level) names[format.mode_order[level]] = by_level[level];
  return names;
}

/// What one nest computes, intermediates of earlier nests substituted, by position in Schedule::tensors.
using Definitions = std::map<std::uint32_t, Substituted>;

std::string substitute(const Schedule& schedule, const LoweredNest& nest, Definitions& known) {
  const auto definitions = loop::definitions(nest.program);
  if (!definitions) return definitions.error().message;
  auto tensor_of = [&](const std::string& storage) {
    const auto place = std::ranges::find(nest.program.storages, storage, &loop::Storage::name);
    return nest.tensors[static_cast<std::size_t>(place - nest.program.storages.begin())];
  };
  for (const loop::Definition& definition : *definitions) {
    if (definition.products.size() != 1) return fmt::format("{} is a sum of several products", definition.output);
    const loop::Product& product = definition.products.front();
    Substituted made;
    if (product.negative) made.coefficient = -1;
    for (const std::uint32_t word : product.coefficients) made.coefficient *= nest.coefficients.at(word);
    for (const auto& [storage, indices] : product.factors) {
      const std::uint32_t number = tensor_of(storage);
      const ScheduledTensor& tensor = schedule.tensors[number];
      if (const auto earlier = known.find(number); earlier != known.end()) {
        made.coefficient *= earlier->second.coefficient;
        made.factors.insert(made.factors.end(), earlier->second.factors.begin(), earlier->second.factors.end());
      } else {
        made.factors.emplace_back(tensor.name, by_mode(indices, tensor.format));
      }
    }
    std::ranges::sort(made.factors);
    known[tensor_of(definition.output)] = std::move(made);
  }
  return {};
}

}  // namespace

std::string difference_from_network(const Schedule& schedule, const Network& network,
                                    const std::vector<LoweredNest>& nests) {
  Definitions known;
  for (const LoweredNest& nest : nests) {
    if (std::string problem = substitute(schedule, nest, known); !problem.empty()) return problem;
  }
  const Term& term = network.assignments.front().terms.front();
  Substituted wanted{term.coefficient, {}};
  for (const TensorAccess& factor : term.factors) {
    Names indices;
    for (std::size_t mode = 0; mode < factor.indices.size(); ++mode) indices.push_back(located_text(network, factor, mode));
    wanted.factors.emplace_back(network.tensors[factor.tensor].name, std::move(indices));
  }
  std::ranges::sort(wanted.factors);
  const auto result = std::ranges::find(schedule.tensors, TensorRole::result, &ScheduledTensor::role);
  const auto computed = known.find(static_cast<std::uint32_t>(result - schedule.tensors.begin()));
  if (computed == known.end()) return "the result is not computed";
  return computed->second == wanted ? std::string() : print(computed->second) + " instead of " + print(wanted);
}

}  // namespace weft::test
