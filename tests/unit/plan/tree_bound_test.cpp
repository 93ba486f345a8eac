#include "engine/plan/cost/tree_bound.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "engine/plan/cost/cost_model.h"
#include "tests/oracle/enumerate.h"
#include "unit/plan/networks.h"
#include "unit/plan/random_networks.h"

namespace tree_bound_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

constexpr std::size_t most = 400;

// Every third network has joins that were counted: few, many, as independence says.
void count_joins(OwnedProblem& made, const std::vector<Schedule>& schedules, unsigned seed) {
  if (seed % 3 != 0) return;
  std::mt19937 random(seed);
  for (const Schedule& schedule : schedules) {
    for (const std::uint64_t join : uncounted_joins(schedule, made)) {
      constexpr double ratios[] = {0.05, 0.5, 1, 4, 50};
      made.options.joins[join] = ratios[random() % std::size(ratios)];
    }
  }
}

}  // namespace

TEST_CASE("no schedule takes less than the bounds of its tree and of its statements say") {
  std::size_t compared = 0;
  std::size_t joined = 0;
  double closest_tree = 0;
  double closest_statements = 0;
  for (unsigned seed = 1; seed <= scaled(300); ++seed) {
    CAPTURE(seed);
    OwnedProblem made = random_network(seed, seed % 4 == 0, seed % 2 == 0);
    CAPTURE(print(made.network));
    const std::vector<Schedule> all = enumerate_schedules(made, most);
    count_joins(made, all, seed);
    if (!made.options.joins.empty()) ++joined;
    TreeBound bound(made);
    for (const Schedule& schedule : all) {
      CAPTURE(print(schedule, made.network));
      const Cost judged = cost(schedule, made);
      const double ns = judged.ns - judged.conversion_ns / std::max(1.0, made.options.calls);
      const double tree = bound.least_ns(schedule.tree, judged.ns * 2);
      // What a bound keeps from one tree and limit to the next changes nothing.
      CHECK(tree == TreeBound(made).least_ns(schedule.tree, judged.ns * 2));
      const CostModel model(contractions_of(schedule), made);
      CHECK(tree <= ns);
      CHECK(model.least_ns() <= ns);
      closest_tree = std::max(closest_tree, tree / ns);
      closest_statements = std::max(closest_statements, model.least_ns() / ns);
      ++compared;
    }
  }
  CHECK(compared > scaled(10000));
  CHECK(joined > scaled(30));
  CHECK(closest_tree > 0.1);
  CHECK(closest_statements > 0.9);
}

TEST_CASE("a statement goes over no more than what the sparse intermediate that it reads may have") {
  // R[i] += A * x[i] with x[i] += B[j] * C[j,i]: 60 of 2^33 coordinates, though C is stored by rows.
  const OwnedProblem made = problem("A: B:j:s:1 C:ji:ss:60 -> i", {{'i', std::uint64_t{1} << 33}, {'j', 4}});
  TreeBound bound(made);
  CHECK(bound.least_ns(*parse_tree("(A * (B * C))", {"A", "B", "C"}), 1) < 1000);
  CHECK(bound.least_ns(*parse_tree("((A * B) * C)", {"A", "B", "C"}), 1) < 1000);
}

}  // namespace tree_bound_test
