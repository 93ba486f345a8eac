// Sessions: tensors set and dropped, texts evaluated.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "frontend/unset_names.h"
#include "unit/memory/fault_points.h"
#include "weft/session.h"

namespace weft::session_faults_test {

using allocation_faults::armed;
using test::drawn;
using test::fail_every_allocation;
using test::judged;
using test::Outcome;
using test::refused;

namespace {

Engine engine_of(const Memory& memory) {
  EngineOptions options;
  options.resources.memory = memory;
  options.resources.threads = Threads(1);
  auto engine = Engine::create(std::move(options));
  REQUIRE(engine);
  return *engine;
}

double first(const Tensor& tensor) { return tensor.values().as<const double>()[0]; }

}  // namespace

TEST_CASE("faults: a session from its making to its answers") {
  const Memory memory;
  const Engine engine = engine_of(memory);
  const Tensor a = drawn("ones(4x3)");
  const Tensor x = drawn("ones(3)");
  for (const Answer answer : {Answer::best, Answer::soonest}) {
    fail_every_allocation(answer == Answer::best ? "a session, best" : "a session, soonest", [&]() -> Outcome {
      const Session session = armed([&] { return Session(engine); });
      Tensor first_tensor = a, second_tensor = x;
      armed([&] { session.set("A", std::move(first_tensor)); });
      armed([&] { session.set("x", std::move(second_tensor)); });
      auto results = armed([&] { return session.evaluate("y(i) = A(i,j) * x(j)", answer); });
      if (!results) return refused(results.error());
      return judged(first(results->at("y")) == 3, "another sum");
    }, memory, 60);
  }
}

TEST_CASE("faults: a tensor that could not be replaced is never read for the new one") {
  const Memory memory;
  const Engine engine = engine_of(memory);
  const Session session(engine);
  session.set("A", drawn("ones(4x3)"));
  const Tensor x = drawn("ones(3)");
  Tensor twice = drawn("ones(3)");
  twice = *same_pattern(twice, *Buffer::allocate(24, memory, "x"), Scalar::f64);
  for (double& value : twice.writable_values<double>()) value = 2;
  session.set("x", x);
  fail_every_allocation("replacing", [&]() -> Outcome {
    for (const double expected : {6.0, 3.0}) {
      Tensor tensor = expected == 6 ? twice : x;
      armed([&] { session.set("x", std::move(tensor)); });
      auto results = armed([&] { return session.evaluate("y(i) = A(i,j) * x(j)"); });
      if (!results) return refused(results.error());
      if (first(results->at("y")) != expected) return {.error = {}, .wrong = "what was set before"};
    }
    return test::right();
  }, memory, 60);
}

TEST_CASE("faults: evaluating with a report") {
  const Memory memory;
  const Engine engine = engine_of(memory);
  const Session session(engine);
  session.set("A", drawn("sparse(20x30,nnz=50,seed=1)"));
  session.set("B", drawn("ones(30x4)"));
  EvaluateOptions options;
  options.why = true;
  options.count = true;
  options.stages = {"network", "schedule", "loops"};
  const std::vector<std::string> names = {"A", "B"};
  fail_every_allocation("a report", [&]() -> Outcome {
    auto evaluation = armed([&] { return session.evaluate("R(i,r) = A(i,j) * B(j,r)", names, options); });
    if (!evaluation) return refused(evaluation.error());
    return judged(evaluation->report.results.contains("R") && !evaluation->report.explanation.empty(), "no report");
  }, memory, 40);
}

TEST_CASE("a session tells the name that could not be set, until it is set or dropped") {
  const Memory memory;
  const Engine engine = engine_of(memory);
  const Session session(engine);
  session.set("A", drawn("ones(2)"));
  Tensor other = drawn("ones(2)");
  allocation_faults::begin(1, allocation_faults::Fails::one);
  armed([&] { session.set("A", std::move(other)); });
  REQUIRE(allocation_faults::fired());
  for (int turn = 0; turn < 2; ++turn) {
    const auto results = session.evaluate("s = A(i)");
    REQUIRE(!results);
    CHECK(results.error().message == "out of memory while setting A");
  }
  session.set("B", drawn("ones(2)"));
  CHECK(session.failure());
  session.drop("A");
  CHECK(!session.failure());
}

TEST_CASE("names that could not be set: forgotten one by one, or never where there were too many") {
  UnsetNames names;
  names.note("a");
  names.note("b");
  names.note("a");
  names.forget("a");
  CHECK(!names.empty());
  CHECK(names.first() == "a");
  names.forget("b");
  CHECK(names.empty());
  for (int number = 0; number < 17; ++number) names.note(std::to_string(number));
  for (int number = 0; number < 17; ++number) names.forget(std::to_string(number));
  CHECK(!names.empty());
}

}  // namespace weft::session_faults_test
