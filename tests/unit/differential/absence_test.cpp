// Operands with NaN and infinities in networks whose parentheses leave nothing open: always a plan, and what is absent annihilates.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "compiled_runs.h"
#include "engine/lower/lower.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/baseline.h"
#include "engine/plan/search/plan_by_need.h"
#include "long_ranges.h"
#include "oracle/contracted.h"
#include "oracle/interpreted.h"
#include "oracle/sparse_result.h"
#include "oracle/stretched.h"
#include "oracle/substituted.h"
#include "runs.h"

namespace absence_test {

using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned seconds_per_network = 60;
constexpr RandomLimits small{.factors = 6, .order = 4, .indices = 6, .extent = 4, .long_extent = 40, .index_space = 3000};

/// A pinned network, what its values were before they were spoiled, and how its result is asked for.
struct Case {
  RequestedNetwork requested;
  RandomNetwork finite;
  BuiltNetwork built;
  CoordinateMap expected;  ///< by mode, what is computed
  PlanOptions options;
};

std::string difference(const CoordinateMap& found, const CoordinateMap& expected) {
  return differences(comparable(found), comparable(expected));
}

/// Lowered, verified, the products of the network, and the expected values; empty if nothing is wrong, or if it is left out.
std::string interpreted_defect(const Schedule& schedule, const Case& drawn) {
  const BuiltNetwork& built = drawn.built;
  if (is_left_out(schedule, built)) return {};
  if (const auto legal = check(schedule, Problem{built.network, built.facts, drawn.options}); !legal) return legal.error().message;
  const auto nests = lower(schedule, built.network, finite_tensors(schedule, built.facts));
  if (!nests) return nests.error().message;
  std::string problem = difference_from_network(schedule, built.network, *nests);
  if (problem.empty()) {
    const auto result = interpreted(schedule, built.network, *nests, built.entries);
    problem = result ? difference(*result, drawn.expected) : result.error().message;
  }
  if (problem.empty()) return problem;
  problem += "\nin\n" + print(schedule, built.network);
  for (const LoweredNest& nest : *nests) problem += print(nest.program);
  return problem;
}

Judge equals(const Case& drawn) {
  return [&drawn](const Tensor& tensor, const Resources& resources) {
    const auto found = entries_of(tensor, resources);
    if (!found) return found.error().message;
    if (drawn.requested.pattern) return difference(*found, drawn.expected);
    const CoordinateMap expected = stored(drawn.expected, tensor.format(), result_extents(drawn.requested.random));
    return structural_differences(comparable(*found), comparable(expected));
  };
}

template <class Body>
void for_each_case(const Runs& drawn, const Body& body) {
  const Resources resources{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    Case one;
    one.requested = random_requested(seed, small);
    RandomNetwork& random = one.requested.random;
    random = pinned(std::move(random), seed);
    if (seed % 3 == 0 && one.requested.format) {
      // Most intermediates are dense on the way to a dense result.
      one.requested.format = dense_format(random.result.size(), one.requested.format->scalar);
    }
    one.requested = stretched(std::move(one.requested), seed);
    one.finite = random;
    spoil(random.operands, seed);
    if (one.requested.format) one.options.result_formats["R"] = *one.requested.format;
    if (one.requested.pattern) one.options.result_patterns["R"] = *one.requested.pattern;
    one.options.strict_fp = seed % 5 == 1;
    if (seed % 7 == 2) one.options.calls = 1e9;
    const std::string text = reproduction(one.requested);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    one.built = std::move(*made);
    one.options = within_memory(one.built.network, one.options);
    one.expected = contracted_result(random);
    body(one, seed);
  }
}

/// Without fused loops the operand whose positions the result shares has to stand in the last product.
bool may_be_unfused(const Case& drawn) { return !drawn.requested.pattern; }

}  // namespace

TEST_CASE("beside NaN and infinities every pinned tree has schedules, and they mean what its parentheses say") {
  std::size_t kept = 0, not_finite = 0, ordered = 0;
  const Runs all = runs(is_sanitized() ? 100 : 400);
  for_each_case(all, [&](const Case& drawn, std::uint64_t seed) {
    const BuiltNetwork& built = drawn.built;
    const auto planned = plan(Problem{built.network, built.facts, drawn.options});
    if (is_left_out(planned, built)) return;
    CHECK(interpreted_defect(planned->schedule, drawn) == "");
    if (seed % 8 == 0 && may_be_unfused(drawn)) {
      PlanOptions fewest = drawn.options;
      fewest.objective = Objective::workspace_order;
      const auto least = plan(Problem{built.network, built.facts, fewest});
      // Layouts may contradict each other; that values are not finite is no reason.
      if (least) CHECK(interpreted_defect(least->schedule, drawn) == "");
      else CHECK(least.error().message.find("NaN or Inf") == std::string::npos);
      ordered += least ? 1 : 0;
    }
    if (may_be_unfused(drawn)) {
      CHECK(interpreted_defect(baseline(Problem{built.network, built.facts, drawn.options}), drawn) == "");
      const auto unfused = plan_unfused(Problem{built.network, built.facts, drawn.options});
      if (!is_left_out(unfused, built)) CHECK(interpreted_defect(unfused->schedule, drawn) == "");
    }
    kept += annihilates_any(planned->schedule, built.facts) ? 1 : 0;
    for (const auto& [coordinates, value] : drawn.expected) not_finite += std::isfinite(value) ? 0 : 1;
  });
  MESSAGE(kept << " schedules have intermediates that keep absence, " << not_finite << " entries are not finite");
  if (all.count < 80) return;
  CHECK(kept > 0);
  CHECK(not_finite > 0);
  CHECK(ordered > 0);
}

TEST_CASE("random networks that hold NaN and infinities, compiled and run") {
  const Pipeline usual = pipeline_with(false, false), checked = pipeline_with(true, false), strict = pipeline_with(false, true);
  for_each_case(runs(is_sanitized() ? 40 : 160), [&](const Case& drawn, std::uint64_t seed) {
    const BuiltNetwork& built = drawn.built;
    const Pipeline& pipeline = drawn.options.strict_fp ? strict : seed % 4 == 0 ? checked : usual;
    const std::uint64_t turn = may_be_unfused(drawn) ? seed % 4 : 0;
    auto planned = turn == 2 ? plan_unfused(Problem{built.network, built.facts, drawn.options})
                             : pipeline.plan(built.network, built.facts, drawn.options);
    if (is_left_out(planned, built)) return;
    if (turn == 3) planned->schedule = baseline(Problem{built.network, built.facts, drawn.options});
    if (is_left_out(planned->schedule, built)) return;
    CHECK(defect_of_runs(pipeline, cut_for_threads(*planned, built, drawn.options), {{1, false}, {2, seed % 2 == 0}}, built,
                         equals(drawn)) == "");
  });
}

TEST_CASE("random networks that hold NaN and infinities, planned as if finite where nothing rests on it") {
  const Pipeline usual = pipeline_with(false, false), strict = pipeline_with(false, true);
  std::size_t as_finite = 0, as_they_are = 0;
  const Runs all = runs(is_sanitized() ? 30 : 120);
  for_each_case(all, [&](const Case& drawn, std::uint64_t seed) {
    const Pipeline& pipeline = drawn.options.strict_fp ? strict : usual;
    BuiltNetwork by_need = drawn.built;
    std::size_t plans = 0;
    const auto planned = plan_by_need(by_need.facts, by_need.network, drawn.options.machine, [&] {
      ++plans;
      return seed % 4 == 1 && may_be_unfused(drawn) ? plan_unfused(Problem{by_need.network, by_need.facts, drawn.options})
                                                    : pipeline.plan(by_need.network, by_need.facts, drawn.options);
    });
    if (is_left_out(planned, by_need)) return;
    const auto legal = check(planned->schedule, Problem{drawn.built.network, drawn.built.facts, drawn.options});
    CHECK_MESSAGE(legal, legal.error().message);
    CHECK(defect_of_runs(pipeline, cut_for_threads(*planned, by_need, drawn.options), {{1, false}, {2, seed % 2 == 0}}, by_need,
                         equals(drawn)) == "");
    ++(plans == 1 ? as_finite : as_they_are);
  });
  MESSAGE(as_finite << " plans are those for finite operands, " << as_they_are << " are not");
  if (all.count >= 20) CHECK(as_finite > 0);
  if (all.count >= 120) CHECK(as_they_are > 0);  // one in sixteen
}

TEST_CASE("random networks compiled for finite operands, run over others that are not") {
  const Pipeline pipeline = pipeline_with(false, false);
  const Resources resources = pipeline.options().resources;
  std::size_t bound = 0;
  const Runs all = runs(is_sanitized() ? 20 : 80);
  for_each_case(all, [&](const Case& drawn, std::uint64_t seed) {
    if (drawn.options.strict_fp) return;
    const auto finite = built(drawn.finite, resources);
    REQUIRE_MESSAGE(finite, finite.error().message);
    const auto planned = seed % 4 == 1 && may_be_unfused(drawn) ? plan_unfused(Problem{finite->network, finite->facts, drawn.options})
                                       : pipeline.plan(finite->network, finite->facts, drawn.options);
    if (is_left_out(planned, *finite)) return;
    CompileFor made_for{.grade = seed % 2 == 0 ? Specialization::generic : Specialization::profiled, .calls = 1};
    if (seed % 6 == 5) made_for.grade = Specialization::baked;
    made_for.tensors = &finite->tensors;
    made_for.planned = drawn.options;
    const auto kernel = pipeline.compile(finite->network, *planned, finite->facts, false, made_for);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    auto binding = kernel->bind(drawn.built.tensors, resources, false);
    REQUIRE_MESSAGE(binding, binding.error().message);
    const auto ran = binding->run();
    REQUIRE_MESSAGE(ran, ran.error().message);
    const auto results = binding->results();
    REQUIRE_MESSAGE(results, results.error().message);
    const std::string problem = equals(drawn)(results->at("R"), resources);
    CHECK_MESSAGE(problem == "", problem << "\nplanned as\n" << print(planned->schedule, finite->network));
    ++bound;
  });
  if (all.count >= 16) CHECK(bound > 0);
}

namespace {

/// The values of one build of the operands in the memory of another, which has the same entries.
void overwrite(std::map<std::string, Tensor>& tensors, const std::map<std::string, Tensor>& values) {
  for (auto& [name, tensor] : tensors) {
    const auto from = values.at(name).values().as<const std::byte>();
    const auto to = tensor.writable_values<std::byte>();
    REQUIRE(from.size() == to.size());
    std::ranges::copy(from, to.begin());
  }
}

}  // namespace

TEST_CASE("random networks whose values change to NaN and infinities and back between runs") {
  const Pipeline pipeline = pipeline_with(false, false);
  const Resources resources = pipeline.options().resources;
  for_each_case(runs(is_sanitized() ? 15 : 60), [&](const Case& drawn, std::uint64_t seed) {
    auto changing = built(drawn.finite, resources);
    const auto finite = built(drawn.finite, resources);
    REQUIRE_MESSAGE(changing, changing.error().message);
    Case before = drawn;
    before.expected = contracted_result(drawn.finite);
    CompileFor made_for{.grade = seed % 2 == 0 ? Specialization::generic : Specialization::profiled, .calls = 1};
    made_for.planned = drawn.options;
    made_for.planned.strict_fp = false;
    const auto planned = pipeline.plan(changing->network, changing->facts, made_for.planned);
    if (is_left_out(planned, *changing)) return;
    const auto kernel = pipeline.compile(changing->network, *planned, changing->facts, false, made_for);
    REQUIRE_MESSAGE(kernel, kernel.error().message);
    HostMemory host;
    for (const auto& [name, tensor] : changing->tensors) host.changing.insert(name);
    auto binding = kernel->bind(changing->tensors, resources, false, host);
    REQUIRE_MESSAGE(binding, binding.error().message);
    for (const bool spoiled : {false, true, false}) {
      overwrite(changing->tensors, spoiled ? drawn.built.tensors : finite->tensors);
      const auto ran = binding->run();
      REQUIRE_MESSAGE(ran, ran.error().message);
      const auto results = binding->results();
      REQUIRE_MESSAGE(results, results.error().message);
      CHECK(equals(spoiled ? drawn : before)(results->at("R"), resources) == "");
    }
  });
}

namespace {

using Results = std::map<std::string, CoordinateMap>;

/// Every result of a binding has the entries and values that parentheses say.
std::string defect_of_results(BoundNetwork& binding, const Resources& resources, const Results& expected) {
  if (const auto ran = binding.run(); !ran) return ran.error().message;
  const auto results = binding.results();
  if (!results) return results.error().message;
  for (const auto& [name, tensor] : *results) {
    if (const auto good = verify(tensor, resources, name); !good) return good.error().message;
    const auto found = entries_of(tensor, resources);
    if (!found) return found.error().message;
    const std::string problem = structural_differences(comparable(*found), comparable(expected.at(name)));
    if (!problem.empty()) return name + ": " + problem;
  }
  return {};
}

std::string defect_of_forest(const Pipeline& pipeline, const Plan& plan, const BuiltNetwork& built, const PlanOptions& options,
                             const std::map<std::string, Tensor>& tensors, const Results& expected, unsigned threads) {
  CompileFor made_for;
  made_for.planned = options;
  const auto kernel = pipeline.compile(built.network, plan, built.facts, false, made_for);
  std::string problem = kernel ? "" : kernel.error().message;
  if (kernel) {
    Resources resources = pipeline.options().resources;
    resources.threads = threads_of(threads);
    auto binding = kernel->bind(tensors, resources, false);
    problem = binding ? defect_of_results(*binding, resources, expected) : binding.error().message;
  }
  return problem.empty() ? problem : problem + "\nin\n" + print(plan.schedule, built.network);
}

}  // namespace

TEST_CASE("random networks of several assignments that hold NaN and infinities: planned, fused or not, and rebound") {
  const Pipeline pipeline = pipeline_with(false, false);
  const Resources resources = pipeline.options().resources;
  const Runs drawn = runs(is_sanitized() ? 30 : 120);
  for (std::uint64_t seed = drawn.first; seed < drawn.first + drawn.count; ++seed) {
    RandomForest random = pinned(random_forest(seed), seed);
    PlanOptions options;
    random.wanted.insert(random.assignments.back().name);
    for (const RandomForest::Assigned& assigned : random.assignments) {
      // What weft would choose decides what later assignments find stored.
      if (random.wanted.contains(assigned.name)) random.formats.try_emplace(assigned.name, dense_format(assigned.indices.size()));
    }
    random = stretched(std::move(random), seed);
    const auto finite = built(random, resources);
    options = within_memory(finite->network, options);
    options.results = random.wanted;
    options.result_formats = random.formats;
    spoil(random.operands, seed);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const Watchdog watchdog(text, seconds_per_network);
    const auto made = built(random, resources);
    REQUIRE_MESSAGE(made, made.error().message);
    const Results expected = contracted_results(random);
    const auto planned = pipeline.plan(made->network, made->facts, options);
    if (is_left_out(planned, *made)) continue;
    CHECK(defect_of_forest(pipeline, *planned, *made, options, made->tensors, expected, 1 + static_cast<unsigned>(seed % 2)) == "");
    BuiltNetwork by_need = *made;
    const auto needed = plan_by_need(by_need.facts, by_need.network, options.machine,
                                     [&] { return pipeline.plan(by_need.network, by_need.facts, options); });
    if (is_left_out(needed, *made)) continue;
    const auto still_legal = check(needed->schedule, Problem{made->network, made->facts, options});
    CHECK_MESSAGE(still_legal, still_legal.error().message);
    CHECK(defect_of_forest(pipeline, *needed, by_need, options, made->tensors, expected, 1) == "");
    if (seed % 3 == 0) {
      const auto unfused = plan_unfused(Problem{made->network, made->facts, options});
      if (is_left_out(unfused, *made)) continue;
      CHECK(defect_of_forest(pipeline, *unfused, *made, options, made->tensors, expected, 1) == "");
    }
    if (seed % 3 == 1) {
      const auto sooner = pipeline.plan(finite->network, finite->facts, options);
      if (is_left_out(sooner, *finite)) continue;
      CHECK(defect_of_forest(pipeline, *sooner, *finite, options, made->tensors, expected, 1) == "");
    }
    if (seed % 3 == 2) {
      const Schedule plain = baseline(Problem{made->network, made->facts, options});
      const auto legal = check(plain, Problem{made->network, made->facts, options});
      // One product of all that nobody wants may have too many indices.
      CHECK_MESSAGE((legal || legal.error().kind == ErrorKind::unsupported), legal.error().message);
      Plan plan;
      plan.schedule = plain;
      if (legal && !is_left_out(plain, *made)) CHECK(defect_of_forest(pipeline, plan, *made, options, made->tensors, expected, 1) == "");
    }
  }
}

}  // namespace absence_test
