#include <doctest/doctest.h>

#include <algorithm>

#include "compiled_runs.h"
#include "engine/plan/plan.h"
#include "engine/plan/search/baseline.h"
#include "oracle/built_network.h"
#include "runs.h"
#include "tests/oracle/enumerate.h"

namespace random_networks_test {

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

/// A judge of results: their entries are the expected ones.
Judge equals(const CoordinateMap& expected) {
  return [&expected](const Tensor& tensor, const Resources& resources) {
    const auto result = entries_of(tensor, resources);
    return result ? differences(*result, expected) : result.error().message;
  };
}

/// So often that conversions cost nothing.
PlanOptions called_often() {
  PlanOptions options;
  options.calls = 1e9;
  return options;
}

bool transposes(const Schedule& schedule) {
  return std::ranges::any_of(schedule.tensors, [](const ScheduledTensor& tensor) { return tensor.converted && tensor.format.all_dense(); });
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
  std::size_t transposed = 0;
  for_each_network(runs(is_sanitized() ? 100 : 500), {}, [&](const BuiltNetwork& built, const CoordinateMap& expected) {
    CHECK(defect(baseline(Problem{built.network, built.facts, {}}), built, expected) == "");
    const auto planned = plan(Problem{built.network, built.facts, {}});
    REQUIRE_MESSAGE(planned, planned.error().message);
    CHECK(defect(planned->schedule, built, expected) == "");
    const auto unfused = plan_unfused(Problem{built.network, built.facts, {}});
    REQUIRE_MESSAGE(unfused, unfused.error().message);
    CHECK(defect(unfused->schedule, built, expected) == "");
    const auto converting = plan(Problem{built.network, built.facts, called_often()});
    REQUIRE_MESSAGE(converting, converting.error().message);
    CHECK(defect(converting->schedule, built, expected) == "");
    transposed += transposes(converting->schedule) ? 1 : 0;
  });
  MESSAGE(transposed << " with dense operands transposed");
}

TEST_CASE("schedules with the least workspaces mean what the network means, or say why there is none") {
  std::size_t planned = 0, refused = 0;
  const Runs all = runs(is_sanitized() ? 20 : 100);
  for_each_network(all, {}, [&](const BuiltNetwork& built, const CoordinateMap& expected) {
    PlanOptions options;
    options.objective = Objective::workspace_order;
    const auto plan = weft::plan(Problem{built.network, built.facts, options});
    if (!plan) {
      // Pinned layouts that disagree, an operand and its transpose, NaN or Inf beside an intermediate.
      REQUIRE_MESSAGE(plan.error().message.find("objective") != std::string::npos, plan.error().message);
      ++refused;
      return;
    }
    CHECK(defect(plan->schedule, built, expected) == "");
    ++planned;
  });
  MESSAGE(planned << " planned, " << refused << " refused");
  if (all.count >= 20) CHECK(planned > refused);
}

TEST_CASE("every schedule of a tiny network means the same") {
  const RandomLimits tiny{.factors = 3, .order = 3, .indices = 4, .extent = 3, .long_extent = 3, .index_space = 81};
  std::size_t schedules = 0;
  for_each_network(runs(is_sanitized() ? 10 : 60), tiny, [&](const BuiltNetwork& built, const CoordinateMap& expected) {
    for (const Schedule& schedule : enumerate_schedules(Problem{built.network, built.facts, {}}, 400)) {
      CHECK(defect(schedule, built, expected) == "");
      ++schedules;
    }
  });
  CHECK(schedules > 0);
  MESSAGE(schedules << " schedules");
}

TEST_CASE("random networks, compiled and run") {
  const Pipeline usual = pipeline_with(false, false), checked = pipeline_with(true, false), strict = pipeline_with(false, true);
  std::uint64_t number = 0;
  for_each_network(
      runs(is_sanitized() ? 250 : 1200), {}, [&](const BuiltNetwork& built, const CoordinateMap& expected) {
        const auto plan = usual.plan(built.network, built.facts, {});
        REQUIRE_MESSAGE(plan, plan.error().message);
        const std::vector<Way> ways = {{1, false}, {2, false}, {1 + static_cast<unsigned>(number % 3), true}};
        CHECK(defect_of_runs(usual, cut_for_threads(*plan, built, {}), ways, built, equals(expected)) == "");
        // In turns: the plan as it is, checked; strictly as printed; the product in one piece; conversions for nothing.
        const std::uint64_t turn = number++ % 8;
        if (turn == 1) CHECK(defect_of_runs(checked, *plan, {{1, false}}, built, equals(expected)) == "");
        if (turn == 3) {
          PlanOptions options;
          options.strict_fp = true;
          const auto strict_plan = strict.plan(built.network, built.facts, options);
          REQUIRE_MESSAGE(strict_plan, strict_plan.error().message);
          CHECK(defect_of_runs(strict, *strict_plan, {{2, false}}, built, equals(expected)) == "");
        }
        if (turn == 7) {
          const PlanOptions often = called_often();
          const auto converting = usual.plan(built.network, built.facts, often);
          REQUIRE_MESSAGE(converting, converting.error().message);
          CHECK(defect_of_runs(usual, cut_for_threads(*converting, built, often), {{2, false}}, built, equals(expected)) == "");
        }
        if (turn == 5) {
          Plan flat = *plan;
          flat.schedule = baseline(Problem{built.network, built.facts, {}});
          CHECK(defect_of_runs(usual, cut_for_threads(flat, built, {}), {{2, false}}, built, equals(expected)) == "");
        }
      });
}

TEST_CASE("schedules of tiny networks, compiled and run") {
  const RandomLimits tiny{.factors = 3, .order = 3, .indices = 4, .extent = 3, .long_extent = 3, .index_space = 81};
  const Pipeline pipeline = pipeline_with(false, false);
  std::size_t number = 0, compiled = 0;
  for_each_network(runs(is_sanitized() ? 5 : 60), tiny, [&](const BuiltNetwork& built, const CoordinateMap& expected) {
    for (const Schedule& schedule : enumerate_schedules(Problem{built.network, built.facts, {}}, 400)) {
      if (number++ % 23 != 0) continue;
      Plan plan;
      plan.schedule = schedule;
      CHECK(defect_of_runs(pipeline, cut_for_threads(plan, built, {}), {{1, false}, {2, false}}, built, equals(expected)) == "");
      ++compiled;
    }
  });
  CHECK(compiled > 0);
}

}  // namespace random_networks_test
