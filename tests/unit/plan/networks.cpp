#include "unit/plan/networks.h"

#include <doctest/doctest.h>

#include <sstream>

namespace weft::plan_test {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

TensorAccess declare(Network& network, const std::string& name, const std::string& letters, bool is_result) {
  TensorAccess access;
  TensorDeclaration declaration{name, {}, Scalar::f64, is_result};
  for (const char letter : letters) {
    IndexId index = 0;
    while (network.indices[index].name != std::string(1, letter)) ++index;
    access.indices.push_back(index);
    declaration.extents.push_back(network.indices[index].extent);
  }
  access.tensor = 0;
  while (access.tensor < network.tensors.size() && network.tensors[access.tensor].name != name) ++access.tensor;
  if (access.tensor == network.tensors.size()) network.tensors.push_back(declaration);
  return access;
}

}  // namespace

Problem problem(const std::string& text, const std::map<char, std::uint64_t>& extents) {
  Problem problem;
  for (const auto& [letter, extent] : extents) problem.network.indices.push_back({std::string(1, letter), extent});
  const std::size_t arrow = text.find("->");
  REQUIRE(arrow != std::string::npos);
  Term term;
  for (const std::string& operand : split(text.substr(0, arrow), ' ')) {
    const std::vector<std::string> parts = split(operand, ':');
    const std::string letters = parts.size() > 1 && parts[1] != "-" ? parts[1] : "";
    const std::size_t known = problem.network.tensors.size();
    term.factors.push_back(declare(problem.network, parts[0], letters, false));
    if (problem.network.tensors.size() == known) continue;
    const std::vector<std::uint64_t>& shape = problem.network.tensors.back().extents;
    Format format = dense_format(shape.size());
    double entries = 1;
    for (const std::uint64_t extent : shape) entries *= static_cast<double>(extent);
    if (parts.size() > 2) format = *parse_format(parts[2]);
    if (parts.size() > 3) entries = std::min(entries, std::stod(parts[3]));
    const auto bytes = static_cast<std::uint64_t>(entries * (format.all_dense() ? 8 : 16));
    problem.operands.push_back({static_cast<TensorId>(known), format, Statistics(shape, format, entries), bytes, false});
  }
  term.pinned = flat_tree(term.factors.size());
  const std::vector<std::string> result = split(text.substr(arrow + 2), ' ');
  Assignment assignment;
  assignment.result = declare(problem.network, "R", result.empty() ? "" : result[0], true);
  assignment.terms.push_back(term);
  problem.network.assignments.push_back(assignment);
  REQUIRE(check(problem.network).has_value());
  return problem;
}

Schedule schedule_of(const Problem& problem, const std::string& text) {
  auto schedule = parse_schedule(text, problem.network);
  const std::string message = schedule ? "" : schedule.error().message;
  INFO(message);
  REQUIRE(schedule.has_value());
  return *schedule;
}

std::string defect(const Problem& problem, const std::string& text) {
  const auto done = check(schedule_of(problem, text), problem.network, problem.operands, problem.options);
  return done ? "" : done.error().message;
}

}  // namespace weft::plan_test
