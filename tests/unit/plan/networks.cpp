#include "unit/plan/networks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "engine/plan/cost/cost.h"
#include "engine/plan/schedule/check.h"
#include "runtime/widths.h"

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

class Builder {
 public:
  explicit Builder(const std::map<char, std::uint64_t>& extents) {
    for (const auto& [letter, extent] : extents) made_.network.indices.push_back({std::string(1, letter), extent});
  }

  void assign(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::size_t arrow = text.find("->");
    REQUIRE(equals < arrow);
    REQUIRE(arrow != std::string::npos);
    Term term;
    for (const std::string& factor : split(text.substr(equals + 1, arrow - equals - 1), ' ')) term.factors.push_back(access(factor));
    term.pinned = flat_tree(term.factors.size());
    const std::vector<std::string> letters = split(text.substr(arrow + 2), ' ');
    Assignment assignment;
    assignment.result = declared(split(text.substr(0, equals), ' ')[0], letters.empty() ? "" : letters[0], true);
    assignment.terms.push_back(std::move(term));
    made_.network.assignments.push_back(std::move(assignment));
  }

  OwnedProblem problem() {
    REQUIRE(check(made_.network).has_value());
    return std::move(made_);
  }

 private:
  TensorAccess declared(const std::string& name, const std::string& letters, bool is_result) {
    TensorAccess access;
    TensorDeclaration declaration{name, {}, Scalar::f64, is_result};
    for (const char letter : letters) {
      const auto index = std::find_if(made_.network.indices.begin(), made_.network.indices.end(),
                                      [&](const Index& one) { return one.name == std::string(1, letter); });
      access.indices.push_back(static_cast<IndexId>(index - made_.network.indices.begin()));
      declaration.extents.push_back(index->extent);
    }
    auto& tensors = made_.network.tensors;
    const auto known = std::find_if(tensors.begin(), tensors.end(), [&](const TensorDeclaration& one) { return one.name == name; });
    access.tensor = static_cast<TensorId>(known - tensors.begin());
    if (known == tensors.end()) tensors.push_back(declaration);
    return access;
  }

  TensorAccess access(const std::string& factor) {
    const std::vector<std::string> parts = split(factor, ':');
    const std::size_t before = made_.network.tensors.size();
    TensorAccess access = declared(parts[0], parts.size() > 1 && parts[1] != "-" ? parts[1] : "", false);
    if (made_.network.tensors.size() == before) return access;
    const std::vector<std::uint64_t>& shape = made_.network.tensors.back().extents;
    const Format format = with_widths(parts.size() > 2 ? *parse_format(parts[2]) : dense_format(shape.size()), shape);
    double entries = 1;
    for (const std::uint64_t extent : shape) entries *= static_cast<double>(extent);
    if (parts.size() > 3) entries = std::min(entries, std::stod(parts[3]));
    const auto bytes = static_cast<std::uint64_t>(entries * (format.all_dense() ? 8 : 16));
    made_.operands.push_back({access.tensor, format, Statistics(shape, format, entries), bytes, false});
    return access;
  }

  OwnedProblem made_;
};

}  // namespace

Tensor matrix_of(const Pairs& pairs, std::uint64_t rows, std::uint64_t columns) {
  Coordinates coordinates;
  coordinates.extents = {rows, columns};
  coordinates.count = pairs.size();
  const Memory memory;
  for (int mode = 0; mode < 2; ++mode) {
    coordinates.crd.push_back(std::move(*Buffer::allocate(pairs.size() * 4, memory, "coordinates")));
    std::size_t n = 0;
    for (const auto& [row, column] : pairs) coordinates.crd.back().as<std::uint32_t>()[n++] = mode == 0 ? row : column;
  }
  coordinates.values = std::move(*Buffer::allocate(pairs.size() * 8, memory, "values"));
  for (double& value : coordinates.values.as<double>()) value = 1;
  return std::move(*build(std::move(coordinates), sparse_format(2), Resources(), "K"));
}

OwnedProblem forest_problem(const std::string& text, const std::map<char, std::uint64_t>& extents) {
  Builder builder(extents);
  for (const std::string& assignment : split(text, ';')) builder.assign(assignment);
  return builder.problem();
}

OwnedProblem problem(const std::string& text, const std::map<char, std::uint64_t>& extents) {
  return forest_problem("R = " + text, extents);
}

Schedule schedule_of(const OwnedProblem& problem, const std::string& text) {
  auto schedule = parse_schedule(text, problem.network);
  const std::string message = schedule ? "" : schedule.error().message;
  INFO(message);
  REQUIRE(schedule.has_value());
  return *schedule;
}

unsigned networks(unsigned usual) {
  const char* times = std::getenv("WEFT_NETWORKS");
  return times == nullptr ? scaled(usual) : scaled(usual) * static_cast<unsigned>(std::max(1, std::atoi(times)));
}

std::ranges::iota_view<unsigned, unsigned> seeds(unsigned usual) {
  const char* one = std::getenv("WEFT_NETWORK");
  if (one == nullptr) return {1, networks(usual) + 1};
  const auto seed = static_cast<unsigned>(std::max(1, std::atoi(one)));
  return {seed, seed + 1};
}

Plan planned(const OwnedProblem& problem) {
  auto found = plan(problem);
  const std::string message = found ? "" : found.error().message;
  INFO(message);
  REQUIRE(found.has_value());
  CHECK(check(found->schedule, problem).has_value());
  CHECK(found->cost == cost(found->schedule, problem));
  CHECK(schedule_of(problem, print(found->schedule, problem.network)) == found->schedule);
  return *found;
}

Schedule without_loops(const Contractions& contractions) {
  const std::size_t steps = contractions.steps.size();
  return with_loops(contractions, {std::vector<std::vector<IndexId>>(steps), std::vector<std::uint32_t>(steps)});
}

std::string defect(const OwnedProblem& problem, const std::string& text) {
  const auto done = check(schedule_of(problem, text), problem);
  return done ? "" : done.error().message;
}

}  // namespace weft::plan_test
