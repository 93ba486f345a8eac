#include "lowered_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "oracle/interpreted.h"
#include "oracle/substituted.h"

namespace weft::test {
namespace {

std::string name_of(const std::string& access) { return access.substr(0, access.find(' ')); }

std::string letters_of(const std::string& access) {
  const std::size_t blank = access.find(' ');
  return blank == std::string::npos ? std::string() : access.substr(blank + 1);
}

std::vector<std::string> indices_of(const std::string& access) {
  std::vector<std::string> indices;
  for (const char letter : letters_of(access)) indices.emplace_back(1, letter);
  return indices;
}

CoordinateMap random_entries(const std::vector<std::uint64_t>& extents, double density, std::mt19937_64& random) {
  CoordinateMap entries;
  std::vector<std::uint64_t> at(extents.size());
  if (std::ranges::find(extents, 0u) != extents.end()) return entries;
  while (true) {
    if (static_cast<double>(random() % 1000) < 1000 * density) {
      entries[at] = static_cast<double>(random() % 7) - 3;
    }
    std::size_t mode = extents.size();
    while (mode > 0 && ++at[mode - 1] == extents[mode - 1]) at[--mode] = 0;
    if (mode == 0) return entries;
  }
}

}  // namespace

Network network_of(const Case& given) {
  Network network;
  std::map<char, IndexId> numbers;
  for (const auto& [letter, extent] : given.extents) {
    numbers[letter] = static_cast<IndexId>(network.indices.size());
    network.indices.push_back({std::string(1, letter), extent});
  }
  auto access = [&](const std::string& text, bool is_result) {
    TensorAccess made;
    TensorDeclaration declared{name_of(text), {}, Scalar::f64, is_result};
    for (const char letter : letters_of(text)) {
      made.indices.push_back(numbers.at(letter));
      declared.extents.push_back(given.extents.at(letter));
    }
    const auto known = std::ranges::find(network.tensors, declared.name, &TensorDeclaration::name);
    made.tensor = static_cast<TensorId>(known - network.tensors.begin());
    if (known == network.tensors.end()) network.tensors.push_back(std::move(declared));
    return made;
  };
  Assignment assignment;
  assignment.result = access(given.result, true);
  Term term;
  term.coefficient = given.coefficient;
  for (const std::string& factor : given.factors) term.factors.push_back(access(factor, false));
  term.pinned = flat_tree(term.factors.size());
  assignment.terms.push_back(std::move(term));
  network.assignments.push_back(std::move(assignment));
  return network;
}

Expected<Schedule> schedule_of(const Case& given) {
  std::vector<std::string> names;
  for (const std::string& factor : given.factors) names.push_back(name_of(factor));
  const std::string tree = print(flat_tree(names.size()), names);
  return parse_schedule(fmt::format("schedule\n  tree {}\n{}", tree, given.schedule), network_of(given));
}

Expected<std::vector<LoweredNest>> lowered(const Case& given) {
  const auto schedule = schedule_of(given);
  if (!schedule) return std::unexpected(schedule.error());
  LoweringFacts more;
  more.caches = given.caches;
  return lower(*schedule, network_of(given), std::vector<bool>(schedule->tensors.size(), true), more);
}

std::string programs(const Case& given) {
  const auto nests = lowered(given);
  if (!nests) return nests.error().message;
  std::string text;
  for (const LoweredNest& nest : *nests) text += print(nest.program);
  return text;
}

std::string program_with_means(const Case& given, const std::vector<double>& means) {
  const auto schedule = schedule_of(given);
  if (!schedule) return schedule.error().message;
  LoweringFacts facts;
  facts.means.resize(schedule->tensors.size());
  facts.means[0] = means;
  const auto nests = lower(*schedule, network_of(given), std::vector<bool>(schedule->tensors.size(), true), facts);
  return nests ? print(nests->front().program) : nests.error().message;
}

std::string defect(const Case& given) {
  const auto nests = lowered(given);
  if (!nests) return nests.error().message;
  for (const LoweredNest& nest : *nests) {
    const auto again = loop::parse(print(nest.program));
    if (!again) return again.error().message;
    if (*again != nest.program) return fmt::format("read back differently:\n{}", print(nest.program));
  }
  const Network network = network_of(given);
  const std::string difference = difference_from_network(*schedule_of(given), network, *nests);
  if (!difference.empty()) return difference;
  std::mt19937_64 random(7);
  for (const double density : {0.0, 0.2, 0.5, 1.0}) {
    std::vector<CoordinateMap> operands;
    for (const TensorDeclaration& tensor : network.tensors) {
      operands.push_back(tensor.is_result ? CoordinateMap() : random_entries(tensor.extents, density, random));
    }
    std::vector<OracleFactor> factors;
    for (std::size_t number = 0; number < given.factors.size(); ++number) {
      factors.push_back(
          {indices_of(given.factors[number]), &operands[network.assignments[0].terms[0].factors[number].tensor]});
    }
    const CoordinateMap expected = einsum(indices_of(given.result), factors, given.coefficient);
    const auto result = interpreted(*schedule_of(given), network, *nests, operands);
    if (!result) return result.error().message;
    if (!equal_values(*result, expected)) return fmt::format("wrong at density {}:\n{}", density, programs(given));
  }
  return {};
}

}  // namespace weft::test
