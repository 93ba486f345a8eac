// What lowering makes of random networks rests on proven claims: the planner's rules are checked against the prover.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "engine/lower/lower.h"
#include "engine/plan/search/baseline.h"
#include "oracle/built_network.h"
#include "oracle/cut_roots.h"
#include "oracle/enumerate.h"
#include "oracle/random_forest.h"
#include "tests/unit/prove/proofs.h"
#include "unit/sanitized.h"

namespace random_programs_test {

using namespace weft;
using namespace weft::test;

namespace {

/// Claims by kind.
using Counted = std::map<std::string, std::size_t>;

/// Empty where what the schedule is lowered to rests on proven claims.
std::string defect(const Schedule& schedule, const BuiltNetwork& built, Counted& counted) {
  const auto nests = lower(schedule, built.network, std::vector<bool>(schedule.tensors.size(), true));
  if (!nests) return nests.error().message;
  std::string text;
  for (const LoweredNest& nest : *nests) {
    text += unproven(nest.program);
    for (const Claim& claim : kernel_claims(nest.program)) ++counted[claim.kind];
  }
  return text.empty() ? text : text + "\nof\n" + print(schedule, built.network);
}

std::string text_of(const Counted& counted) {
  std::string text;
  for (const auto& [kind, claims] : counted) text += fmt::format("{} {}, ", claims, kind);
  return text;
}

/// The planner's schedule, its roots cut for threads, its entries counted first; the baseline's.
void check_schedules(const BuiltNetwork& built, const PlanOptions& options, Counted& counted) {
  const auto planned = plan(Problem{built.network, built.facts, options});
  REQUIRE_MESSAGE(planned, (planned ? "" : planned.error().message));
  CHECK(defect(planned->schedule, built, counted) == "");
  CHECK(defect(with_cut_roots(planned->schedule, built, options), built, counted) == "");
  CHECK(defect(with_counted_roots(planned->schedule, built, options), built, counted) == "");
}

const Resources& resources() {
  static const Resources one{.memory = Memory(), .threads = Threads(1), .cancellation = {}, .progress = {}};
  return one;
}

std::uint64_t count(std::uint64_t all) { return is_sanitized() ? all / 4 : all; }

}  // namespace

TEST_CASE("random networks: planned loops rest on proven claims") {
  Counted counted;
  for (std::uint64_t seed = 1; seed <= count(200); ++seed) {
    const RandomNetwork random = random_network(seed);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const auto made = built(random, resources());
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    check_schedules(*made, {}, counted);
    CHECK(defect(baseline(Problem{made->network, made->facts, {}}), *made, counted) == "");
  }
  MESSAGE(text_of(counted));
  for (const std::string kind : {"passed", "candidate", "owner", "within", "unique"}) CHECK(counted[kind] > 0);
}

TEST_CASE("random networks of several assignments: planned loops rest on proven claims") {
  Counted counted;
  for (std::uint64_t seed = 1; seed <= count(100); ++seed) {
    const RandomForest random = random_forest(seed);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const auto made = built(random, resources());
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    PlanOptions options;
    options.results = random.wanted;
    options.result_formats = random.formats;
    check_schedules(*made, options, counted);
  }
  MESSAGE(text_of(counted));
  for (const std::string kind : {"append", "owner"}) CHECK(counted[kind] > 0);
}

TEST_CASE("every schedule of a tiny network rests on proven claims") {
  const RandomLimits tiny{.factors = 3, .order = 3, .indices = 4, .extent = 3, .long_extent = 3, .index_space = 81};
  Counted counted;
  for (std::uint64_t seed = 1; seed <= count(20); ++seed) {
    const RandomNetwork random = random_network(seed, tiny);
    const std::string text = reproduction(random);
    CAPTURE(text);
    const auto made = built(random, resources());
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message));
    for (const Schedule& schedule : enumerate_schedules(Problem{made->network, made->facts, {}}, 60))
      CHECK(defect(schedule, *made, counted) == "");
  }
  MESSAGE(text_of(counted));
}

}  // namespace random_programs_test
