// Intermediates of order 0 between two nests: what nothing contributed to is absent, and makes no entry of a result.
#include <doctest/doctest.h>

#include "compiled_runs.h"
#include "engine/pipeline.h"
#include "frontend/resolve.h"
#include "oracle/sparse_result.h"

namespace stored_scalars_test {

using namespace weft;
using namespace weft::test;

namespace {

Tensor vector_of(const std::vector<std::uint64_t>& coordinates, const std::vector<double>& values) {
  RandomOperand vector;
  vector.name = "vector";
  vector.extents = {6};
  vector.format = sparse_format(1);
  for (std::size_t entry = 0; entry < values.size(); ++entry)
    vector.entries.push_back({{coordinates[entry]}, values[entry]});
  auto tensor = tensor_of(vector, Resources());
  REQUIRE_MESSAGE(tensor, tensor.error().message);
  return *tensor;
}

/// The result of the expression, evaluated by the schedule in every way, twice each.
CoordinateMap result_of(const std::string& expression, const std::string& schedule, const std::map<std::string, Tensor>& tensors,
                        const std::string& name) {
  std::vector<OperandShape> shapes;
  for (const auto& [operand, tensor] : tensors) shapes.push_back({operand, tensor.extents(), tensor.format().scalar});
  const auto parsed = parse_expression(expression);
  REQUIRE_MESSAGE(parsed, parsed.error().message);
  const auto network = resolve(*parsed, shapes);
  REQUIRE_MESSAGE(network, network.error().message);
  const Pipeline pipeline = pipeline_with(false, false);
  const auto facts = pipeline.facts(*network, tensors, {});
  PlanOptions options;
  if (name == "A") options.result_formats[name] = sparse_format(1);
  options.results = {"A", "D"};
  const auto given = parse_schedule(schedule, *network);
  REQUIRE_MESSAGE(given, given.error().message);
  auto plan = plan_given(*given, Problem{*network, facts, options});
  REQUIRE_MESSAGE(plan, plan.error().message);
  make_worth_threads(*plan);
  const auto kernel = pipeline.compile(*network, *plan, facts);
  REQUIRE_MESSAGE(kernel, kernel.error().message);
  std::optional<CoordinateMap> found;
  for (const unsigned threads : {1U, 2U, 4U}) {
    const Resources resources{Memory(), threads_of(threads), {}, {}};
    auto binding = kernel->bind(tensors, resources, false);
    REQUIRE_MESSAGE(binding, binding.error().message);
    for (int run = 0; run < 2; ++run) {
      const auto ran = binding->run();
      REQUIRE_MESSAGE(ran, ran.error().message);
      const auto results = binding->results();
      REQUIRE_MESSAGE(results, results.error().message);
      const auto sound = verify(results->at(name), resources, name);
      REQUIRE_MESSAGE(sound, sound.error().message);
      auto entries = entries_of(results->at(name), resources);
      REQUIRE_MESSAGE(entries, entries.error().message);
      if (found) CHECK(*entries == *found);
      found = std::move(*entries);
    }
  }
  return *found;
}

constexpr const char* scaled = R"(schedule
  tree ((a * b) * c)
  layout a s:0 f64
  layout b s:0 f64
  layout c s:0 f64
  intermediate x[] f64
  result A s:0 f64
  x[] += a[i] * b[i]   loops i
  A[j] += x[] * c[j]   loops j
  parallel i private
  parallel j owner
)";

}  // namespace

TEST_CASE("a scalar between two nests is absent where nothing was accumulated into it") {
  const Tensor a = vector_of({0, 1, 4}, {1, 2, 3});
  const Tensor c = vector_of({0, 2}, {5, 7});
  const std::string expression = "A(j) = (a(i) * b(i)) * c(j)";
  CHECK(result_of(expression, scaled, {{"a", a}, {"b", vector_of({2, 3}, {1, 1})}, {"c", c}}, "A").empty());
  // A sum that cancels is there.
  CHECK(result_of(expression, scaled, {{"a", a}, {"b", vector_of({0, 1}, {2, -1})}, {"c", c}}, "A") ==
        CoordinateMap{{{0}, 0}, {{2}, 0}});
  CHECK(result_of(expression, scaled, {{"a", a}, {"b", vector_of({1, 4}, {1, 1})}, {"c", c}}, "A") ==
        CoordinateMap{{{0}, 25}, {{2}, 35}});
}

TEST_CASE("what is computed from an absent scalar is absent, whoever else reads it") {
  const std::string expression = "s() = a(i) * b(i); D(i) = s() * a(i); t() = s() * c(j); A(j) = t() * c(j)";
  const std::string schedule = R"(schedule
  tree s = (a * b)
  tree D = (s * a)
  tree t = (s * c)
  tree A = (t * c)
  layout a s:0 f64
  layout b s:0 f64
  layout c s:0 f64
  intermediate s[] f64
  result D d:0 f64
  intermediate t[] f64
  result A s:0 f64
  s[] += a[i] * b[i]   loops i
  D[i] += s[] * a[i]   loops i
  t[] += s[] * c[j]   loops j
  A[j] += t[] * c[j]   loops j
  parallel i serial
  parallel i owner
  parallel j private
  parallel j owner
)";
  const Tensor a = vector_of({0, 1}, {1, 2});
  const Tensor c = vector_of({0, 2}, {5, -5});
  CHECK(result_of(expression, schedule, {{"a", a}, {"b", vector_of({2, 3}, {1, 1})}, {"c", c}}, "A").empty());
  CHECK(result_of(expression, schedule, {{"a", a}, {"b", vector_of({0}, {1})}, {"c", c}}, "A") == CoordinateMap{{{0}, 0}, {{2}, 0}});
  CHECK(result_of(expression, schedule, {{"a", a}, {"b", vector_of({2, 3}, {1, 1})}, {"c", c}}, "D") ==
        CoordinateMap{{{0}, 0}, {{1}, 0}, {{2}, 0}, {{3}, 0}, {{4}, 0}, {{5}, 0}});
}

}  // namespace stored_scalars_test
