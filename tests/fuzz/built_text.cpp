#include "fuzz/built_text.h"

#include <algorithm>

#include "fuzz/scratch.h"
#include "fuzz/shapes.h"
#include "fuzz/target.h"
#include "oracle/random_forest.h"
#include "unit/differential/runs.h"

namespace weft::fuzz {
namespace {

constexpr std::uint64_t most_iterations = 3000;
constexpr std::uint64_t most_places = 30'000;  // of a tensor: T(i,i,i,…) has many for a few iterations

test::RandomOperand operand_of(const TensorDeclaration& declared) {
  test::RandomOperand operand;
  operand.name = declared.name;
  operand.extents = declared.extents;
  const bool dense = declared.name.front() <= 'M';
  operand.format = dense ? dense_format(declared.extents.size()) : sparse_format(declared.extents.size());
  std::uint64_t space = 1, seed = 0;
  for (const std::uint64_t extent : declared.extents) space *= extent;
  for (const char c : declared.name) seed = seed * 31 + static_cast<unsigned char>(c);
  test::Dice dice(seed);
  for (std::uint64_t number = 0; number < space; ++number) {
    if (!dense && dice.percent(40)) continue;
    std::vector<std::uint64_t> coordinates;
    std::uint64_t rest = number;
    for (const std::uint64_t extent : declared.extents) {
      coordinates.push_back(rest % extent);
      rest /= extent;
    }
    operand.entries.emplace_back(std::move(coordinates), 1 + static_cast<double>(dice.below(3)));
  }
  return operand;
}

bool is_small(const Network& network) {
  for (const TensorDeclaration& tensor : network.tensors) {
    std::uint64_t places = 1;
    for (const std::uint64_t extent : tensor.extents) {
      places *= extent;
      if (places > most_places) return false;
    }
  }
  for (const Assignment& assignment : network.assignments) {
    std::vector<IndexId> indices;
    for (const Term& term : assignment.terms)
      for (const TensorAccess& factor : term.factors)
        for (const IndexId index : factor.indices)
          if (std::ranges::find(indices, index) == indices.end()) indices.push_back(index);
    std::uint64_t space = 1;
    for (const IndexId index : indices) {
      space *= network.indices[index].extent;
      if (space > most_iterations) return false;
    }
  }
  return network.assignments.size() <= 4;
}

}  // namespace

std::optional<BuiltText> built_text(std::string_view expression) {
  const auto parsed = parse_expression(expression);
  if (!parsed) return std::nullopt;
  const auto network = resolve(*parsed, shapes_of(*parsed));
  if (!network || !is_small(*network)) return std::nullopt;
  const Resources resources = small_resources();
  BuiltText text;
  text.built.network = *network;
  text.built.entries.resize(network->tensors.size());
  for (TensorId id = 0; id < network->tensors.size(); ++id) {
    if (network->tensors[id].is_result) continue;
    const test::RandomOperand operand = operand_of(network->tensors[id]);
    const auto tensor = test::tensor_of(operand, resources);
    require(tensor.has_value(), [&] { return tensor.error().message; });
    text.built.tensors.emplace(operand.name, *tensor);
    text.built.facts.push_back({id, tensor->format(), statistics(*tensor, resources.threads), tensor->bytes(), false});
    text.built.entries[id] = test::summed(operand);
  }
  std::map<TensorId, test::CoordinateMap> known;
  for (TensorId id = 0; id < network->tensors.size(); ++id) known[id] = text.built.entries[id];
  for (const Assignment& assignment : network->assignments) {
    const auto names = [&](const std::vector<IndexId>& indices) {
      std::vector<std::string> words;
      for (const IndexId index : indices) words.push_back(network->indices[index].name);
      return words;
    };
    std::vector<test::OracleFactor> factors;
    for (const TensorAccess& factor : assignment.terms.front().factors)
      factors.push_back({names(factor.indices), &known.at(factor.tensor)});
    known[assignment.result.tensor] =
        test::einsum(names(assignment.result.indices), factors, assignment.terms.front().coefficient);
    text.results[network->tensors[assignment.result.tensor].name] = known[assignment.result.tensor];
  }
  return text;
}

void check_schedule(const Schedule& schedule, const BuiltText& text) {
  // A workspace may have many modes, and the interpreter is slow.
  if (schedule.statements.size() > 12) return;
  const auto results = test::interpreted_results(schedule, text.built);
  require(results.has_value(), [&] {
    return "a legal schedule is not interpreted: " + results.error().message + "\n" +
           print(schedule, text.built.network);
  });
  require(!results->empty(), "a legal schedule has no result");
  for (const auto& [name, values] : *results) {
    const std::string difference = test::differences(values, text.results.at(name));
    require(difference.empty(), [&] { return name + ": " + difference + "\n" + print(schedule, text.built.network); });
  }
}

}  // namespace weft::fuzz
