#include <doctest/doctest.h>

#include <algorithm>

#include "compiled_runs.h"
#include "engine/plan/plan.h"
#include "engine/plan/search/baseline.h"
#include "long_ranges.h"
#include "oracle/built_network.h"
#include "oracle/random_machine.h"
#include "oracle/stretched.h"
#include "runs.h"
#include "tests/oracle/enumerate.h"

namespace random_networks_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;

/// What is wrong with what a schedule means; empty if nothing is, or if it is left out.
std::string defect(const Schedule& schedule, const BuiltNetwork& built, const CoordinateMap& expected) {
  if (is_left_out(schedule, built)) return {};
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

std::string defect(const Expected<Plan>& plan, const BuiltNetwork& built, const CoordinateMap& expected) {
  return is_left_out(plan, built) ? "" : defect(plan->schedule, built, expected);
}

/// So often that conversions cost nothing.
PlanOptions called_often(PlanOptions options) {
  options.calls = 1e9;
  return options;
}

bool transposes(const Schedule& schedule) {
  return std::ranges::any_of(schedule.tensors, [](const ScheduledTensor& tensor) { return tensor.converted && tensor.format.all_dense(); });
}

/// Calls body(built, expected, options) for every network of the run, one in five of which is stretched.
template <class Body>
void for_each_network(const Runs& drawn, const RandomLimits& limits, const Body& body) {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RandomNetwork random = stretched(random_network(seed, limits), seed);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    PlanOptions options = within_memory(made->network);
    options.machine = random_machine(seed);
    body(*made, expected_result(random), options);
  }
}

}  // namespace

TEST_CASE("what the planner's and the baseline's schedules mean is what the network means") {
  std::size_t transposed = 0;
  const auto check = [&](const BuiltNetwork& built, const CoordinateMap& expected, const PlanOptions& options) {
    CHECK(defect(baseline(Problem{built.network, built.facts, options}), built, expected) == "");
    CHECK(defect(plan(Problem{built.network, built.facts, options}), built, expected) == "");
    CHECK(defect(plan_unfused(Problem{built.network, built.facts, options}), built, expected) == "");
    const auto converting = plan(Problem{built.network, built.facts, called_often(options)});
    CHECK(defect(converting, built, expected) == "");
    transposed += converting && transposes(converting->schedule) ? 1 : 0;
  };
  for_each_network(runs(is_sanitized() ? 100 : 500), {}, check);
  MESSAGE(transposed << " with dense operands transposed");
}

TEST_CASE("schedules with the least workspaces mean what the network means, or say why there is none") {
  std::size_t planned = 0, refused = 0;
  const Runs all = runs(is_sanitized() ? 20 : 100);
  for_each_network(all, {}, [&](const BuiltNetwork& built, const CoordinateMap& expected, PlanOptions options) {
    options.objective = Objective::workspace_order;
    const auto plan = weft::plan(Problem{built.network, built.facts, options});
    if (!plan && plan.error().kind == ErrorKind::resource) return;  // over long extents
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
  const Runs drawn = runs(is_sanitized() ? 10 : 60);
  for_each_network(drawn, tiny, [&](const BuiltNetwork& built, const CoordinateMap& expected, const PlanOptions& options) {
    for (const Schedule& schedule : enumerate_schedules(Problem{built.network, built.facts, options}, 400)) {
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
      runs(is_sanitized() ? 250 : 1200), {}, [&](const BuiltNetwork& built, const CoordinateMap& expected, const PlanOptions& given) {
        const std::uint64_t turn = number++ % 8;
        const auto plan = usual.plan(built.network, built.facts, given);
        if (is_left_out(plan, built)) return;
        const std::vector<Way> ways = {{1, false}, {2, false}, {1 + static_cast<unsigned>(number % 3), true}};
        CHECK(defect_of_runs(usual, cut_for_threads(*plan, built, given), ways, built, equals(expected)) == "");
        // In turns: the plan as it is, checked; strictly as printed; the product in one piece; conversions for nothing.
        if (turn == 1) CHECK(defect_of_runs(checked, *plan, {{1, false}}, built, equals(expected)) == "");
        if (turn == 3) {
          PlanOptions options = given;
          options.strict_fp = true;
          const auto strict_plan = strict.plan(built.network, built.facts, options);
          if (!is_left_out(strict_plan, built))
            CHECK(defect_of_runs(strict, *strict_plan, {{2, false}}, built, equals(expected)) == "");
        }
        if (turn == 7) {
          const PlanOptions often = called_often(given);
          const auto converting = usual.plan(built.network, built.facts, often);
          if (!is_left_out(converting, built))
            CHECK(defect_of_runs(usual, cut_for_threads(*converting, built, often), {{2, false}}, built, equals(expected)) == "");
        }
        if (turn == 5) {
          Plan flat = *plan;
          flat.schedule = baseline(Problem{built.network, built.facts, given});
          if (!is_left_out(flat.schedule, built))
            CHECK(defect_of_runs(usual, cut_for_threads(flat, built, given), {{2, false}}, built, equals(expected)) == "");
        }
      });
}

TEST_CASE("schedules of tiny networks, compiled and run") {
  const RandomLimits tiny{.factors = 3, .order = 3, .indices = 4, .extent = 3, .long_extent = 3, .index_space = 81};
  const Pipeline pipeline = pipeline_with(false, false);
  std::size_t number = 0, compiled = 0;
  const Runs drawn = runs(is_sanitized() ? 5 : 60);
  for_each_network(drawn, tiny, [&](const BuiltNetwork& built, const CoordinateMap& expected, const PlanOptions& options) {
    for (const Schedule& schedule : enumerate_schedules(Problem{built.network, built.facts, options}, 400)) {
      if (number++ % 23 != 0 || is_left_out(schedule, built)) continue;
      Plan plan;
      plan.schedule = schedule;
      CHECK(defect_of_runs(pipeline, cut_for_threads(plan, built, options), {{1, false}, {2, false}}, built, equals(expected)) == "");
      ++compiled;
    }
  });
  CHECK(compiled > 0);
}

}  // namespace random_networks_test
