#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiled_runs.h"
#include "engine/plan/cost/cost.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/baseline.h"
#include "engine/plan/search/planned.h"
#include "long_ranges.h"
#include "oracle/random_forest.h"
#include "oracle/random_machine.h"
#include "oracle/sparse_result.h"
#include "oracle/stretched.h"
#include "runs.h"

namespace random_forests_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;

using Results = std::map<std::string, CoordinateMap>;

PlanOptions options_of(const RandomForest& random, const BuiltNetwork& built) {
  PlanOptions options = within_memory(built.network);
  options.machine = random_machine(random.seed);
  options.results = random.wanted;
  options.result_formats = random.formats;
  return options;
}

/// A number that is no sum of entries in place of NaN, which equals nothing.
CoordinateMap without_nan(CoordinateMap values) {
  for (auto& [coordinates, value] : values) {
    if (std::isnan(value)) value = 1e300;
  }
  return values;
}

/// Empty if exactly the wanted results are there and have the expected values, and exactly the expected entries where the
/// layout is asked for (`is_stored`: entries are what the tensors store; else what the programs mean).
std::string difference(const Results& found, const RandomForest& random, const Results& expected, bool is_stored) {
  std::set<std::string> wanted = random.wanted;
  wanted.insert(random.assignments.back().name);
  for (const auto& [name, values] : found) {
    if (wanted.erase(name) == 0) return name + " is a result though nobody asked for it";
    const std::string problem = is_stored && random.formats.contains(name)
                                    ? structural_differences(without_nan(values), without_nan(expected.at(name)))
                                    : differences(without_nan(values), without_nan(expected.at(name)));
    if (!problem.empty()) return name + ": " + problem;
  }
  return wanted.empty() ? "" : *wanted.begin() + " is no result";
}

std::string defect(const Schedule& schedule, const BuiltNetwork& built, const RandomForest& random, const Results& expected) {
  if (is_left_out(schedule, built)) return {};
  const auto result = interpreted_results(schedule, built);
  const std::string problem = result ? difference(*result, random, expected, false) : result.error().message;
  return problem.empty() ? problem : problem + "\nin\n" + print(schedule, built.network);
}

/// The baseline contracts what nobody wants in one product with its readers, whose loops may be too many to interpret.
bool is_interpreted_soon(const Schedule& schedule, const BuiltNetwork& built, const PlanOptions& options) {
  double iterations = 0;
  for (const LoopCost& loop : cost(schedule, Problem{built.network, built.facts, options}).loops) iterations += loop.iterations;
  return iterations < 3e6;
}

/// Whether the text of a schedule stands for it.
std::string text_defect(const Plan& plan, const BuiltNetwork& built, const PlanOptions& options) {
  const std::string text = print(plan.schedule, built.network);
  const auto read = parse_schedule(text, built.network);
  if (!read) return read.error().message + "\nin\n" + text;
  if (*read != plan.schedule) return "another schedule is read than\n" + text + "namely\n" + print(*read, built.network);
  const auto given = plan_given(*read, Problem{built.network, built.facts, options});
  if (!given) return given.error().message + "\nin\n" + text;
  if (given->cost == plan.cost) return "";
  return fmt::format("a cost of {} ns instead of {} is read from\n{}", given->cost.ns, plan.cost.ns, text);
}

std::string defect_of_runs(const Pipeline& pipeline, const Plan& plan, const BuiltNetwork& built, const RandomForest& random,
                           const Results& expected) {
  const auto kernel = pipeline.compile(built.network, plan, built.facts);
  if (!kernel) return kernel.error().message + "\nin\n" + print(plan.schedule, built.network);
  for (const unsigned threads : {1U, 2U}) {
    Resources resources = pipeline.options().resources;
    resources.threads = Threads(threads);
    auto binding = kernel->bind(built.tensors, resources, false);
    if (!binding) return binding.error().message;
    for (int run = 0; run < 2; ++run) {
      if (const auto ran = binding->run(); !ran) return ran.error().message;
      Results found;
      const auto results = binding->results();
      if (!results) return results.error().message;
      for (const auto& [name, tensor] : *results) {
        if (const auto good = verify(tensor, resources, name); !good) return good.error().message;
        const auto asked = random.formats.find(name);
        if (asked != random.formats.end() && tensor.format().text() != asked->second.text())
          return name + " comes as " + tensor.format().text();
        auto listed = entries_of(tensor, resources);
        if (!listed) return listed.error().message;
        found[name] = std::move(*listed);
      }
      const std::string problem = difference(found, random, expected, true);
      if (!problem.empty()) return problem + "\nin\n" + print(plan.schedule, built.network);
    }
  }
  return {};
}

enum class Values { finite, with_nan };

template <class Body>
void for_each_forest(const Runs& drawn, const Body& body, Values values = Values::finite, Extents extents = Extents::some_long) {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RandomForest random = stretched(random_forest(seed, values == Values::with_nan), seed, extents);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    body(random, *made, expected_results(random));
  }
}

}  // namespace

TEST_CASE("schedules of several assignments mean what the assignments mean, and so do their texts") {
  std::size_t several = 0;
  for_each_forest(runs(is_sanitized() ? 60 : 200), [&](const RandomForest& random, const BuiltNetwork& built, const Results& expected) {
    const PlanOptions options = options_of(random, built);
    const Schedule plain = baseline(Problem{built.network, built.facts, options});
    const auto legal = check(plain, Problem{built.network, built.facts, options});
    // One product of all that nobody wants may have too many indices.
    const bool too_many = !legal && legal.error().kind == ErrorKind::unsupported;
    CHECK_MESSAGE((legal || too_many), legal.error().message);
    if (legal && is_interpreted_soon(plain, built, options)) CHECK(defect(plain, built, random, expected) == "");
    const auto planned = plan(Problem{built.network, built.facts, options});
    if (is_left_out(planned, built)) return;
    CHECK(defect(planned->schedule, built, random, expected) == "");
    CHECK(text_defect(*planned, built, options) == "");
    const auto unfused = plan_unfused(Problem{built.network, built.facts, options});
    if (!is_left_out(unfused, built)) CHECK(defect(unfused->schedule, built, random, expected) == "");
    several += planned->schedule.earlier_trees.empty() ? 0 : 1;
  });
  CHECK(several > 0);
  MESSAGE(several << " schedules store several assignments");
}

TEST_CASE("several assignments, compiled and run") {
  EngineOptions pipeline_options;
  pipeline_options.resources.threads = Threads(1);
  const auto pipeline = Pipeline::create(pipeline_options);
  REQUIRE_MESSAGE(pipeline, pipeline.error().message);
  for_each_forest(runs(is_sanitized() ? 20 : 120), [&](const RandomForest& random, const BuiltNetwork& built, const Results& expected) {
    const PlanOptions options = options_of(random, built);
    auto planned = pipeline->plan(built.network, built.facts, options);
    if (is_left_out(planned, built)) return;
    CHECK(defect_of_runs(*pipeline, *planned, built, random, expected) == "");
    planned = cut_for_threads(std::move(*planned), built, options);
    CHECK(defect_of_runs(*pipeline, *planned, built, random, expected) == "");
    planned = counted_for_threads(std::move(*planned), built, options);
    const bool counts = std::ranges::find(planned->schedule.roots, RootReduction::counted) != planned->schedule.roots.end();
    if (counts) CHECK(defect_of_runs(*pipeline, *planned, built, random, expected) == "");
  });
}

TEST_CASE("several assignments with NaN: what is absent annihilates, what a wanted result stores does not") {
  EngineOptions pipeline_options;
  pipeline_options.resources.threads = Threads(1);
  const auto pipeline = Pipeline::create(pipeline_options);
  REQUIRE_MESSAGE(pipeline, pipeline.error().message);
  std::size_t with_nan = 0;
  const Runs drawn = runs(is_sanitized() ? 20 : 220);
  for_each_forest(
      drawn,
      [&](const RandomForest& random, const BuiltNetwork& built, const Results& expected) {
        const PlanOptions options = options_of(random, built);
        const auto planned = pipeline->plan(built.network, built.facts, options);
        if (is_left_out(planned, built)) return;
        CHECK(text_defect(*planned, built, options) == "");
        CHECK(defect_of_runs(*pipeline, *planned, built, random, expected) == "");
        const auto unfused = plan_unfused(Problem{built.network, built.facts, options});
        if (!is_left_out(unfused, built))
          CHECK(defect_of_runs(*pipeline, *unfused, built, random, expected) == "");
        for (const auto& [coordinates, value] : expected.at(random.assignments.back().name)) with_nan += std::isnan(value) ? 1 : 0;
      },
      Values::with_nan);
  if (drawn.count >= 20) CHECK(with_nan > 0);
  MESSAGE(with_nan << " entries are NaN");
}

TEST_CASE("several assignments over long extents, compiled and run") {
  EngineOptions pipeline_options;
  pipeline_options.resources.threads = Threads(1);
  const auto pipeline = Pipeline::create(pipeline_options);
  REQUIRE_MESSAGE(pipeline, pipeline.error().message);
  std::uint64_t computed = 0, refused = 0, slow = 0;
  const Runs all = runs(is_sanitized() ? 20 : 300);
  for_each_forest(
      all,
      [&](const RandomForest& random, const BuiltNetwork& built, const Results& expected) {
        const PlanOptions options = options_of(random, built);
        const bool unfused = (computed + refused + slow) % 3 == 2;
        auto planned = unfused ? plan_unfused(Problem{built.network, built.facts, options})
                               : pipeline->plan(built.network, built.facts, options);
        if (!planned) {
          CHECK_MESSAGE(planned.error().kind == ErrorKind::resource, planned.error().message);
          ++refused;
          return;
        }
        if (goes_over_long_ranges(planned->schedule, built.network)) {
          ++slow;
          return;
        }
        CHECK(defect_of_runs(*pipeline, *planned, built, random, expected) == "");
        planned = counted_for_threads(std::move(*planned), built, options);
        CHECK(defect_of_runs(*pipeline, *planned, built, random, expected) == "");
        ++computed;
      },
      Values::finite, Extents::long_ones);
  MESSAGE(computed << " computed, " << refused << " refused for their size, " << slow << " too slow");
  if (all.count >= 20) CHECK(computed > 2 * (refused + slow));
}

}  // namespace random_forests_test
