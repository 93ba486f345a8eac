#include "engine/plan/prove/prove.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "engine/network/inlining.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/forest.h"
#include "unit/plan/joint_schedules.h"
#include "unit/plan/stretched.h"

namespace prove_forest_test {

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
  for (unsigned seed = 0; seed < scaled(40); ++seed) {
    const RandomForest drawn = random_forest(seed);
    const std::string text = "seed " + std::to_string(seed) + ": " + drawn.text;
    CAPTURE(text);
    const Network stored = inlined(drawn.made.network, unneeded(drawn.made.network, drawn.made.options));
    if (most_factors(drawn.made.network) > 3 || stored.assignments.size() < 2) continue;
    const PlanOptions& options = drawn.made.options;
    const Problem problem{stored, drawn.made.operands, options};
    const ProofJudge judge = [&](const std::vector<Candidate>& parts) -> Expected<double> {
      std::vector<Schedule> schedules;
      for (const Candidate& part : parts) schedules.push_back(part.schedule);
      const Schedule whole = joined(schedules, stored, options);
      if (auto legal = check(whole, Problem{drawn.made.network, drawn.made.operands, options}); !legal) {
        return std::unexpected(legal.error());
      }
      return cost(whole, Problem{drawn.made.network, drawn.made.operands, options}).ns;
    };
    const Proof proof = prove_assignments(problem, {}, {std::numeric_limits<double>::infinity(), 0, effort, 1}, judge);
    REQUIRE(proof.report.unavailable == "");
    if (!proof.proven()) continue;  // too many nests for one problem
    REQUIRE(!proof.cheaper.empty());
    CHECK(proof.ns == doctest::Approx(least_of_all(drawn.made, true)).epsilon(1e-4));
    // What each assignment takes at least rules out neither that nor what is hardly dearer.
    const Proof again = prove_assignments(problem, {}, {proof.ns * 1.0001, 0, effort, 1}, judge);
    REQUIRE(!again.cheaper.empty());
    CHECK(again.ns == doctest::Approx(proof.ns).epsilon(1e-4));
    ++compared;
    for (const Candidate& part : proof.cheaper) {
      for (const ScheduledTensor& tensor : part.schedule.tensors) copied += tensor.converted ? 1 : 0;
    }
  }
  CHECK(compared > scaled(8));
  CHECK(copied > 0);
}

TEST_CASE("a proof of several assignments is the solver's too") {
  std::size_t asked = 0;
  for (RandomForest& drawn : small_forests(scaled(40))) {
    CAPTURE(drawn.text);
    const Plan usual = planned(drawn.made);
    drawn.made.options.prove = true;
    const Plan proven = planned(drawn.made);
    CHECK(proven.cost.ns <= usual.cost.ns * (1 + 1e-9));
    CHECK(proven.cost.ns >= usual.cost.ns * (1 - 3e-5));
    asked += proven.solver.asked && !proven.schedule.earlier_trees.empty() ? 1 : 0;
  }
  CHECK(asked > scaled(3));
}

TEST_CASE("one memory limit holds over all assignments, and what fits is the cheapest that does") {
  std::size_t compared = 0;
  std::size_t dearer = 0;
  for (RandomForest& drawn : small_forests(scaled(40))) {
    CAPTURE(drawn.text);
    const Plan free = planned(drawn.made);
    std::uint64_t operands = 0;
    for (const OperandFacts& facts : drawn.made.operands) operands += facts.bytes;
    if (!is_dense(free) || free.cost.announced_bytes < operands + 2000) continue;
    drawn.made.options.memory_limit = free.cost.announced_bytes - 1;
    const double least = least_of_all(drawn.made);
    const auto found = plan(drawn.made);
    if (std::isinf(least)) {
      CHECK_FALSE(found);
      continue;
    }
    REQUIRE_MESSAGE(found, found.error().message);
    CHECK(found->cost.announced_bytes <= drawn.made.options.memory_limit);
    if (!is_beyond(found->schedule)) CHECK(found->cost.ns >= least * (1 - 1e-9));
    if (found->optimal == Optimal::all) CHECK(found->cost.ns <= least * (1 + 3e-5));
    ++compared;
    dearer += found->cost.ns > least * (1 + 3e-5) ? 1 : 0;
  }
  CHECK(compared > scaled(5));
  CHECK(dearer <= compared / 4);
}

// Two or three assignments, most of whose results are sparse.
RandomForest sparse_forest(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
  const auto operand = [&](const std::string& name, std::string modes) {
    // One draw after the other: compilers evaluate operands of a sum in orders of their own.
    if (below(2) == 0) std::swap(modes.front(), modes.back());
    const std::string entries = std::to_string(10 + below(200));
    return name + ":" + modes + (below(4) == 0 ? ":ds:" : ":ss:") + entries + " ";
  };
  RandomForest drawn;
  for (const char letter : {'i', 'j', 'k', 'h'}) drawn.extents[letter] = std::vector<std::uint64_t>{20, 60, 200}[below(3)];
  const char* const orders[] = {"ij", "ji"};
  const std::string first = operand("A", "ik");
  const std::string stored = orders[below(2)];
  drawn.text = "S = " + first + operand("B", "kj") + "-> " + stored + "; ";
  drawn.text += "O = S:" + std::string(drawn.text[drawn.text.size() - 4] == 'i' ? "ij " : "ji ");
  switch (below(3)) {
    case 0: drawn.text += operand("D", "jh") + "-> ih"; break;
    case 1: drawn.text += first + "-> " + (below(2) == 0 ? "k" : "jk"); break;
    default: {
      const std::string result = below(2) == 0 ? "j" : "ij";
      drawn.text += operand("D", "ij") + "-> " + result;
    }
  }
  drawn.made = forest_problem(drawn.text, drawn.extents);
  drawn.made.options.calls = std::vector<double>{1, 1000}[below(2)];
  for (OperandFacts& facts : drawn.made.operands) facts.pinned = below(4) > 0;
  if (below(3) == 0) drawn.made.options.result_formats["O"] = sparse_format(drawn.made.network.assignments.back().result.indices.size());
  // One in ten: the solver may take twenty times as long where numbers are 2^62 apart.
  if (seed % 10 == 9) drawn.made = stretched(std::move(drawn.made), random);
  return drawn;
}

TEST_CASE("sparse results share the limit too: what grows is no part of it, what is drained into them is") {
  std::size_t compared = 0;
  std::size_t impossible = 0;
  std::size_t sparse = 0;
  for (unsigned seed = 0; seed < scaled(14); ++seed) {
    RandomForest drawn = sparse_forest(seed);
    const std::string text = "seed " + std::to_string(seed) + ": " + drawn.text;
    CAPTURE(text);
    PlanOptions& options = drawn.made.options;
    std::uint64_t bytes = 0;
    bool stores_sparse = false;
    const auto proven = [&](std::uint64_t limit) {
      const ProofRequest request{std::numeric_limits<double>::infinity(), limit, effort, 1.05};
      const ProofJudge judge = [&](const std::vector<Candidate>& parts) -> Expected<double> {
        std::vector<Schedule> schedules;
        for (const Candidate& part : parts) schedules.push_back(part.schedule);
        const Schedule whole = joined(schedules, drawn.made.network, options);
        if (auto legal = check(whole, Problem{drawn.made.network, drawn.made.operands, options}); !legal) {
          return std::unexpected(legal.error());
        }
        const Cost judged = cost(whole, Problem{drawn.made.network, drawn.made.operands, options});
        if (limit != 0 && judged.announced_bytes > limit) return fail(ErrorKind::resource, "too large");
        bytes = judged.announced_bytes;
        stores_sparse = std::ranges::any_of(whole.tensors, [](const ScheduledTensor& tensor) {
          return tensor.role != TensorRole::operand && !tensor.format.all_dense();
        });
        return judged.ns;
      };
      Proof proof = prove_assignments(Problem{drawn.made.network, drawn.made.operands, options}, {}, request, judge);
      REQUIRE(proof.report.unavailable == "");
      return proof;
    };
    const Proof free = proven(0);
    if (!free.proven() || free.cheaper.empty()) continue;
    // What is needed to the byte, one byte less, and what that then needs to the byte.
    for (std::uint64_t limit = bytes, step = 0; step < 3; ++step, limit = step == 1 ? bytes - 1 : bytes) {
      CAPTURE(limit);
      options.memory_limit = limit;
      const double least = least_of_all(drawn.made, true);
      const Proof within = proven(limit);
      if (!within.proven()) break;
      CHECK(within.cheaper.empty() == std::isinf(least));
      if (within.cheaper.empty()) {
        ++impossible;
        break;
      }
      CHECK(within.ns == doctest::Approx(least).epsilon(1e-4));
      ++compared;
      sparse += stores_sparse ? 1 : 0;
    }
  }
  CHECK(compared >= scaled(20));
  CHECK(sparse >= scaled(10));
  CHECK(impossible >= scaled(1));
}

TEST_CASE("a copy for one assignment gives way to what another one has to store") {
  // A is converted for P as long as there is memory; O stores a matrix between its nests.
  OwnedProblem made = forest_problem("P = A:ij:ss:20000 E:ji:ss:20000 -> i; O = X:ik Y:kj D:jh -> ih",
                                {{'i', 500}, {'j', 500}, {'k', 4}, {'h', 400}});
  made.options.results = {"P"};
  made.options.calls = 1000;
  for (OperandFacts& facts : made.operands) facts.pinned = made.network.tensors[facts.tensor].name == "E";
  const Plan free = planned(made);
  for (std::uint64_t less = 1000; less < free.cost.announced_bytes; less += less / 2) {
    made.options.memory_limit = free.cost.announced_bytes - less;
    const auto found = plan(made);
    if (!found) {
      CHECK(found.error().kind == ErrorKind::resource);
      continue;
    }
    CHECK(found->cost.announced_bytes <= made.options.memory_limit);
    CHECK(found->cost.ns >= free.cost.ns * (1 - 1e-9));
  }
}

}  // namespace prove_forest_test
