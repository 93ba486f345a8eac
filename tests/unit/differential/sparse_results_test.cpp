// Sparse results against the structural product: every pair of formats with every contraction of two operands, and
// longer random products, as programs that are interpreted and as native code on several threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "engine/engine.h"
#include "oracle/built_network.h"
#include "oracle/cut_roots.h"
#include "oracle/pairs.h"
#include "runs.h"

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;
/// Large enough that the engine cuts the root loop for its threads however small the tensors are.
constexpr double worth_threads_ns = 1e9;

/// One arena each: starting threads for every network would take longer than running it.
const Threads& threads_of(unsigned count) {
  static std::map<unsigned, Threads> arenas;
  return arenas.try_emplace(count, count).first->second;
}

PlanOptions options_of(const RequestedNetwork& requested) {
  PlanOptions options;
  if (requested.format) options.result_formats["R"] = *requested.format;
  if (requested.pattern) options.result_patterns["R"] = *requested.pattern;
  return options;
}

const ScheduledTensor& result_of(const Schedule& schedule) {
  return *std::ranges::find(schedule.tensors, TensorRole::result, &ScheduledTensor::role);
}

/// What is wrong with what a schedule means; empty if nothing is.
std::string defect(const Schedule& schedule, const BuiltNetwork& built, const RequestedNetwork& requested) {
  const auto result = interpreted(schedule, built);
  const Format& computed = result_of(schedule).format;
  const std::string problem = result
                                  ? structural_differences(stored(*result, computed, result_extents(requested.random)),
                                                           expected_entries(requested, computed))
                                  : result.error().message;
  return problem.empty() ? problem : problem + "\nin\n" + print(schedule, built.network);
}

Plan cut_for_threads(Plan plan, const BuiltNetwork& built, const PlanOptions& options) {
  plan.schedule = with_cut_roots(std::move(plan.schedule), built, options);
  plan.cost.ns = worth_threads_ns;
  return plan;
}

struct Way {
  unsigned threads = 1;
  bool deterministic = false;
};

/// Compiled, then bound and run twice in every way (the second run finds what the first left behind).
std::string defect_of_runs(const Engine& engine, const Plan& plan, const std::vector<Way>& ways,
                           const BuiltNetwork& built, const RequestedNetwork& requested) {
  const auto kernel = engine.compile(built.network, plan, built.facts);
  if (!kernel) return kernel.error().message + "\nin\n" + print(plan.schedule, built.network);
  const auto run_once = [&](Binding& binding, const Resources& resources) -> std::string {
    if (const auto ran = binding.run(); !ran) return ran.error().message;
    const auto results = binding.results();
    if (!results) return results.error().message;
    const Tensor& tensor = results->at("R");
    if (const auto good = verify(tensor, resources, "R"); !good) return good.error().message;
    if (requested.format && tensor.format.text() != requested.format->text())
      return "R comes as " + tensor.format.text() + " instead of " + requested.format->text();
    const auto result = entries_of(tensor, resources);
    if (!result) return result.error().message;
    return structural_differences(*result, expected_entries(requested, tensor.format));
  };
  for (const Way& way : ways) {
    Resources resources = engine.options().resources;
    resources.threads = threads_of(way.threads);
    auto binding = kernel->bind(built.tensors, resources, way.deterministic);
    if (!binding) return binding.error().message;
    for (int run = 0; run < 2; ++run) {
      const std::string problem = run_once(*binding, resources);
      if (problem.empty()) continue;
      std::string text = problem + (run == 0 ? "" : " in the second run") + " on " + std::to_string(way.threads) +
                         (way.deterministic ? " threads, deterministic" : " threads") + "\nin\n" +
                         print(plan.schedule, built.network);
      for (const CompiledNest& nest : kernel->nests()) text += print(nest.nest.program);
      return text;
    }
  }
  return {};
}

Engine engine_with(bool checked, bool strict_fp) {
  EngineOptions options;
  options.resources.threads = threads_of(1);
  options.checked = checked;
  options.strict_fp = strict_fp;
  auto engine = Engine::create(options);
  REQUIRE_MESSAGE(engine, engine.error().message);
  return *engine;
}

template <class Draw, class Body>
void for_each_network(const Runs& drawn, const Draw& draw, const Body& body) {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RequestedNetwork requested = draw(seed);
    const std::string text = reproduction(requested);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    const auto made = built(requested.random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    body(requested, *made);
  }
}

void check_meaning(const RequestedNetwork& requested, const BuiltNetwork& built) {
  const PlanOptions options = options_of(requested);
  CHECK(defect(baseline(built.network, built.facts, options), built, requested) == "");
  const auto planned = plan(built.network, built.facts, options);
  REQUIRE_MESSAGE(planned, planned.error().message);
  CHECK(defect(planned->schedule, built, requested) == "");
}

/// Runs one network in ways that take turns with `number`.
class Running {
 public:
  void check(const RequestedNetwork& requested, const BuiltNetwork& built) {
    const PlanOptions options = options_of(requested);
    const auto plan = usual_.plan(built.network, built.facts, options);
    REQUIRE_MESSAGE(plan, plan.error().message);
    const std::uint64_t turn = number_++ % 8;
    const std::vector<Way> ways = {{1, false}, {turn % 2 == 0 ? 4u : 8u, false}, {2, true}};
    CHECK(defect_of_runs(usual_, cut_for_threads(*plan, built, options), ways, built, requested) == "");
    if (turn == 1)
      CHECK(defect_of_runs(checked_, cut_for_threads(*plan, built, options), {{2, false}}, built, requested) == "");
    if (turn == 3) {
      PlanOptions strict_options = options;
      strict_options.strict_fp = true;
      const auto strict_plan = strict_.plan(built.network, built.facts, strict_options);
      REQUIRE_MESSAGE(strict_plan, strict_plan.error().message);
      CHECK(defect_of_runs(strict_, *strict_plan, {{2, false}}, built, requested) == "");
    }
    if (turn == 5) {
      Plan flat = *plan;
      flat.schedule = baseline(built.network, built.facts, options);
      CHECK(defect_of_runs(usual_, cut_for_threads(flat, built, options), {{2, false}}, built, requested) == "");
    }
  }

 private:
  Engine usual_ = engine_with(false, false), checked_ = engine_with(true, false), strict_ = engine_with(false, true);
  std::uint64_t number_ = 0;
};

RequestedNetwork tree(std::uint64_t seed) { return random_requested(seed); }

}  // namespace

TEST_CASE("pairs of formats: what the schedules mean is the structural product") {
  for_each_network(runs(is_sanitized() ? 100 : 700), pair, check_meaning);
}

TEST_CASE("random products with sparse results: what the schedules mean is the structural product") {
  for_each_network(runs(is_sanitized() ? 50 : 400), tree, check_meaning);
}

TEST_CASE("pairs of formats, compiled and run") {
  Running running;
  for_each_network(
      runs(is_sanitized() ? 100 : 700), pair,
      [&](const RequestedNetwork& requested, const BuiltNetwork& built) { running.check(requested, built); });
}

TEST_CASE("random products with sparse results, compiled and run") {
  Running running;
  for_each_network(
      runs(is_sanitized() ? 50 : 500), tree,
      [&](const RequestedNetwork& requested, const BuiltNetwork& built) { running.check(requested, built); });
}
