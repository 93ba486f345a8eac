#include "engine/plan/prove_jointly.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "engine/network/inlining.h"
#include "engine/plan/forest.h"
#include "unit/plan/joint_schedules.h"

using namespace weft;
using namespace weft::plan_test;

namespace {

constexpr std::uint64_t effort = 1'000'000'000;

bool is_dense(const Plan& plan) {
  return std::ranges::all_of(plan.schedule.tensors, [](const ScheduledTensor& tensor) {
    return tensor.role != TensorRole::result || tensor.format.all_dense();
  });
}

// Of the seeds below `seeds`, those whose assignments have few enough factors to be enumerated.
std::vector<RandomForest> small_forests(unsigned seeds) {
  std::vector<RandomForest> found;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    RandomForest drawn = random_forest(seed);
    if (most_factors(drawn.made.network) > 3) continue;
    drawn.text = "seed " + std::to_string(seed) + ": " + drawn.text;
    found.push_back(std::move(drawn));
  }
  return found;
}

}  // namespace

TEST_CASE("without any schedule to beat the solver finds the cheapest joint schedule") {
  std::size_t compared = 0;
  std::size_t copied = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const RandomForest drawn = random_forest(seed);
    const std::string text = "seed " + std::to_string(seed) + ": " + drawn.text;
    CAPTURE(text);
    const Network stored = inlined(drawn.made.network, unneeded(drawn.made.network, drawn.made.options));
    if (most_factors(drawn.made.network) > 3 || stored.assignments.size() < 2) continue;
    const PlanOptions& options = drawn.made.options;
    const auto proof = prove_jointly(stored, drawn.made.operands, options, {}, {std::numeric_limits<double>::infinity(), 0, effort, 1},
                                     [&](const std::vector<Plan>& parts) -> Expected<double> {
      std::vector<Schedule> schedules;
      for (const Plan& part : parts) schedules.push_back(part.schedule);
      const Schedule whole = joined(schedules, stored, options);
      if (auto legal = check(whole, drawn.made.network, drawn.made.operands, options); !legal) return std::unexpected(legal.error());
      return cost(whole, drawn.made.network, drawn.made.operands, options).ns;
    });
    REQUIRE_MESSAGE(proof, proof.error().message);
    if (!proof->proven) continue;  // too many nests for one problem
    REQUIRE(proof->cheaper);
    CHECK(proof->ns == doctest::Approx(least_of_all(drawn.made, true)).epsilon(1e-4));
    ++compared;
    for (const Plan& part : *proof->cheaper) {
      for (const ScheduledTensor& tensor : part.schedule.tensors) copied += tensor.converted ? 1 : 0;
    }
  }
  CHECK(compared > 8);
  CHECK(copied > 0);
}

TEST_CASE("a proof of several assignments is the solver's too") {
  std::size_t asked = 0;
  for (RandomForest& drawn : small_forests(40)) {
    CAPTURE(drawn.text);
    const Plan usual = planned(drawn.made);
    drawn.made.options.prove = true;
    const Plan proven = planned(drawn.made);
    CHECK(proven.cost.ns <= usual.cost.ns * (1 + 1e-9));
    CHECK(proven.cost.ns >= usual.cost.ns * (1 - 3e-5));
    asked += proven.solver.asked && !proven.schedule.earlier_trees.empty() ? 1 : 0;
  }
  CHECK(asked > 3);
}

TEST_CASE("one memory limit holds over all assignments, and what fits is the cheapest that does") {
  std::size_t compared = 0;
  std::size_t dearer = 0;
  for (RandomForest& drawn : small_forests(40)) {
    CAPTURE(drawn.text);
    const Plan free = planned(drawn.made);
    std::uint64_t operands = 0;
    for (const OperandFacts& facts : drawn.made.operands) operands += facts.bytes;
    if (!is_dense(free) || free.cost.announced_bytes < operands + 2000) continue;
    drawn.made.options.memory_limit = free.cost.announced_bytes - 1;
    const double least = least_of_all(drawn.made);
    const auto found = plan(drawn.made.network, drawn.made.operands, drawn.made.options);
    if (std::isinf(least)) {
      CHECK_FALSE(found);
      continue;
    }
    REQUIRE_MESSAGE(found, found.error().message);
    CHECK(found->cost.announced_bytes <= drawn.made.options.memory_limit);
    CHECK(found->cost.ns >= least * (1 - 1e-9));
    if (found->optimal == "all") CHECK(found->cost.ns <= least * (1 + 3e-5));
    ++compared;
    dearer += found->cost.ns > least * (1 + 3e-5) ? 1 : 0;
  }
  CHECK(compared > 5);
  CHECK(dearer <= compared / 4);
}

TEST_CASE("a copy for one assignment gives way to what another one has to store") {
  // A is converted for P as long as there is room; O stores a matrix between its nests.
  Problem made = forest_problem("P = A:ij:ss:20000 E:ji:ss:20000 -> i; O = X:ik Y:kj D:jh -> ih",
                                {{'i', 500}, {'j', 500}, {'k', 4}, {'h', 400}});
  made.options.results = {"P"};
  made.options.calls = 1000;
  for (OperandFacts& facts : made.operands) facts.pinned = made.network.tensors[facts.tensor].name == "E";
  const Plan free = planned(made);
  for (std::uint64_t less = 1000; less < free.cost.announced_bytes; less += less / 2) {
    made.options.memory_limit = free.cost.announced_bytes - less;
    const auto found = plan(made.network, made.operands, made.options);
    if (!found) {
      CHECK(found.error().kind == ErrorKind::resource);
      continue;
    }
    CHECK(found->cost.announced_bytes <= made.options.memory_limit);
    CHECK(found->cost.ns >= free.cost.ns * (1 - 1e-9));
  }
}
