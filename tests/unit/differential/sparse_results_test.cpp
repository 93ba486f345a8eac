// Sparse results against the structural product: every pair of formats with every contraction of two operands, and
// longer random products, as programs that are interpreted and as native code on several threads.
#include <doctest/doctest.h>

#include <algorithm>

#include "compiled_runs.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/baseline.h"
#include "long_ranges.h"
#include "oracle/built_network.h"
#include "oracle/fiber_sums.h"
#include "oracle/pairs.h"
#include "oracle/random_machine.h"
#include "oracle/stretched.h"
#include "runs.h"

namespace sparse_results_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;

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

/// One network in five is stretched.
template <class Draw, class Body>
void for_each_network(const Runs& drawn, const Draw& draw, const Body& body) {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    const RequestedNetwork requested = stretched(draw(seed), seed);
    const std::string text = reproduction(requested);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    const auto made = built(requested.random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    body(requested, *made);
  }
}

PlanOptions options_for(const RequestedNetwork& requested, const BuiltNetwork& built) {
  PlanOptions options = options_of(requested, within_memory(built.network));
  options.machine = random_machine(requested.random.seed);
  return options;
}

/// Unfused, an operand that lends the result its positions may stand in another nest.
bool lends_from_afar(const Schedule& schedule, const BuiltNetwork& built, const RequestedNetwork& requested) {
  return requested.pattern && !weft::check(schedule, Problem{built.network, built.facts, options_for(requested, built)});
}

void check_meaning(const RequestedNetwork& requested, const BuiltNetwork& built) {
  const PlanOptions options = options_for(requested, built);
  const Schedule plain = baseline(Problem{built.network, built.facts, options});
  if (!lends_from_afar(plain, built, requested) && !is_left_out(plain, built)) CHECK(defect(plain, built, requested) == "");
  const auto planned = plan(Problem{built.network, built.facts, options});
  if (!is_left_out(planned, built)) CHECK(defect(planned->schedule, built, requested) == "");
}

/// Runs one network in ways that take turns with `number`.
class Running {
 public:
  /// Nests whose entries were counted before they were appended.
  std::int64_t counted() const { return counted_; }

  void check(const RequestedNetwork& requested, const BuiltNetwork& built) {
    const PlanOptions options = options_for(requested, built);
    const auto plan = usual_.plan(built.network, built.facts, options);
    const std::uint64_t turn = number_++ % 8;
    if (is_left_out(plan, built)) return;
    const std::vector<Way> ways = {{1, false}, {turn % 2 == 0 ? 4u : 8u, false}, {2, true}};
    CHECK(defect_of_runs(usual_, cut_for_threads(*plan, built, options), ways, built, is_structural(requested)) == "");
    if (turn % 2 == 0) {
      const Plan counted = counted_for_threads(*plan, built, options);
      counted_ += std::ranges::count(counted.schedule.roots, RootReduction::counted);
      CHECK(defect_of_runs(turn == 4 ? checked_ : usual_, counted, {{2, false}, {4, true}}, built, is_structural(requested)) == "");
    }
    if (turn == 1)
      CHECK(defect_of_runs(checked_, cut_for_threads(*plan, built, options), {{2, false}}, built, is_structural(requested)) == "");
    if (turn == 3) {
      PlanOptions strict_options = options;
      strict_options.strict_fp = true;
      const auto strict_plan = strict_.plan(built.network, built.facts, strict_options);
      if (!is_left_out(strict_plan, built))
        CHECK(defect_of_runs(strict_, *strict_plan, {{2, false}}, built, is_structural(requested)) == "");
    }
    if (turn == 5) {
      Plan flat = *plan;
      flat.schedule = baseline(Problem{built.network, built.facts, options});
      if (!lends_from_afar(flat.schedule, built, requested) && !is_left_out(flat.schedule, built))
        CHECK(defect_of_runs(usual_, cut_for_threads(flat, built, options), {{2, false}}, built, is_structural(requested)) == "");
    }
  }

 private:
  Pipeline usual_ = pipeline_with(false, false), checked_ = pipeline_with(true, false), strict_ = pipeline_with(false, true);
  std::uint64_t number_ = 0;
  std::int64_t counted_ = 0;
};

RequestedNetwork tree(std::uint64_t seed) { return random_requested(seed); }

}  // namespace

TEST_CASE("pairs of formats: what the schedules mean is the structural product") {
  for_each_network(runs(is_sanitized() ? 100 : 700), pair, check_meaning);
}

TEST_CASE("random products with sparse results: what the schedules mean is the structural product") {
  for_each_network(runs(is_sanitized() ? 50 : 400), tree, check_meaning);
}

TEST_CASE("sums below the leading levels of an operand: what the schedules mean is the structural product") {
  std::uint64_t networks = 0;
  std::uint64_t like = 0;
  for_each_network(runs(is_sanitized() ? 50 : 300), fiber_sum, [&](const RequestedNetwork& requested, const BuiltNetwork& built) {
    check_meaning(requested, built);
    const auto planned = plan(Problem{built.network, built.facts, options_for(requested, built)});
    ++networks;
    like += planned && result_of(planned->schedule).like ? 1 : 0;
  });
  MESSAGE(like << " of " << networks << " results share positions");
  if (networks >= 50) CHECK(like > networks / 4);
}

TEST_CASE("sums below the leading levels of an operand, compiled and run") {
  Running running;
  for_each_network(
      runs(is_sanitized() ? 50 : 300), fiber_sum,
      [&](const RequestedNetwork& requested, const BuiltNetwork& built) { running.check(requested, built); });
}

TEST_CASE("pairs of formats, compiled and run") {
  Running running;
  for_each_network(
      runs(is_sanitized() ? 100 : 700), pair,
      [&](const RequestedNetwork& requested, const BuiltNetwork& built) { running.check(requested, built); });
  MESSAGE(running.counted() << " nests count their entries first");
  if (runs(50).count >= 50) CHECK(running.counted() > 0);
}

TEST_CASE("random products with sparse results, compiled and run") {
  Running running;
  for_each_network(
      runs(is_sanitized() ? 50 : 500), tree,
      [&](const RequestedNetwork& requested, const BuiltNetwork& built) { running.check(requested, built); });
  MESSAGE(running.counted() << " nests count their entries first");
  if (runs(50).count >= 50) CHECK(running.counted() > 0);
}

}  // namespace sparse_results_test
