#include <doctest/doctest.h>

#include "engine/engine.h"
#include "oracle/built_network.h"
#include "runs.h"

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;

/// What is wrong with what a schedule means; empty if nothing is.
std::string defect(const Schedule& schedule, const BuiltNetwork& built, const CoordinateMap& expected) {
  const auto result = interpreted(schedule, built);
  const std::string problem = result ? differences(*result, expected) : result.error().message;
  return problem.empty() ? problem : problem + "\nin\n" + print(schedule, built.network);
}

/// Planned, compiled and run twice (the second run finds what the first left behind).
std::string defect_of_run(const Engine& engine, const BuiltNetwork& built, const CoordinateMap& expected) {
  const auto plan = engine.plan(built.network, built.facts, {});
  if (!plan) return plan.error().message;
  const auto kernel = engine.compile(built.network, *plan, built.facts);
  if (!kernel) return kernel.error().message;
  auto binding = kernel->bind(built.tensors, engine.options().resources, engine.options().deterministic);
  if (!binding) return binding.error().message;
  for (int run = 0; run < 2; ++run) {
    if (const auto ran = binding->run(); !ran) return ran.error().message;
    const auto results = binding->results();
    const auto result = entries_of(results.at("R"), engine.options().resources);
    const std::string problem = result ? differences(*result, expected) : result.error().message;
    if (!problem.empty()) {
      std::string text = problem + "\nin\n" + print(plan->schedule, built.network);
      for (const CompiledNest& nest : kernel->nests()) text += print(nest.nest.program);
      return text;
    }
  }
  return {};
}

Engine engine_with(unsigned threads, bool deterministic, bool checked, bool strict_fp) {
  EngineOptions options;
  options.resources.threads = Threads(threads);
  options.deterministic = deterministic;
  options.checked = checked;
  options.strict_fp = strict_fp;
  auto engine = Engine::create(options);
  REQUIRE_MESSAGE(engine, engine.error().message);
  return *engine;
}

/// Calls body(random, built, expected) for every network of the run.
template <class Body>
void for_each_network(const Runs& drawn, const RandomLimits& limits, const Body& body) {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RandomNetwork random = random_network(seed, limits);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    body(*made, expected_result(random));
  }
}

}  // namespace

TEST_CASE("what the planner's and the baseline's schedules mean is what the network means") {
  for_each_network(runs(is_sanitized() ? 100 : 500), {}, [](const BuiltNetwork& built, const CoordinateMap& expected) {
    CHECK(defect(baseline(built.network, built.facts, {}), built, expected) == "");
    const auto planned = plan(built.network, built.facts, {});
    REQUIRE_MESSAGE(planned, planned.error().message);
    CHECK(defect(planned->schedule, built, expected) == "");
    const auto unfused = plan_unfused(built.network, built.facts, {});
    REQUIRE_MESSAGE(unfused, unfused.error().message);
    CHECK(defect(unfused->schedule, built, expected) == "");
  });
}

TEST_CASE("every schedule of a tiny network means the same") {
  const RandomLimits tiny{.factors = 3, .order = 3, .indices = 4, .extent = 3, .index_space = 81};
  std::size_t schedules = 0;
  for_each_network(runs(is_sanitized() ? 10 : 60), tiny,
                   [&](const BuiltNetwork& built, const CoordinateMap& expected) {
                     for (const Schedule& schedule : enumerate_schedules(built.network, built.facts, {}, 400)) {
                       CHECK(defect(schedule, built, expected) == "");
                       ++schedules;
                     }
                   });
  CHECK(schedules > 0);
  MESSAGE(schedules << " schedules");
}

TEST_CASE("random networks, compiled and run") {
  const std::vector<Engine> engines = {engine_with(1, false, false, false), engine_with(2, false, false, false),
                                       engine_with(2, true, true, false), engine_with(1, false, false, true)};
  std::size_t number = 0;
  for_each_network(runs(is_sanitized() ? 300 : 2000), {}, [&](const BuiltNetwork& built, const CoordinateMap& expected) {
    // Every network on one and on two threads; now and then checked and strict kernels.
    const std::size_t special = number++ % 8;
    CHECK(defect_of_run(engines[0], built, expected) == "");
    CHECK(defect_of_run(engines[1], built, expected) == "");
    if (special == 3) CHECK(defect_of_run(engines[2], built, expected) == "");
    if (special == 7) CHECK(defect_of_run(engines[3], built, expected) == "");
  });
}
