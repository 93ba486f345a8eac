// What all plans of a problem take at least, and plans that have to stay below something.
#include "engine/plan/plan.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/plan/networks.h"
#include "unit/plan/random_networks.h"

namespace problem_bound_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("no plan takes less than the bound of its problem says") {
  double closest = 0;
  std::size_t bounded = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed, seed % 4 == 0, true);
    const double bound = bound_ns(made);
    const auto found = plan(made);
    if (!found) continue;
    CHECK(bound <= found->cost.ns);
    if (!is_priced_at_once(made)) CHECK(bound == 0);
    if (bound > 0) ++bounded;
    closest = std::max(closest, bound / found->cost.ns);
  }
  CHECK(bounded > 50);
  CHECK(closest > 0.1);
}

TEST_CASE("a plan that has to stay below a price is the cheapest where that does, and else nothing is claimed to") {
  std::size_t there = 0;
  std::size_t none = 0;
  for (unsigned seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    OwnedProblem made = random_network(seed, seed % 4 == 0, true);
    made.options.prove = true;
    const auto best = plan(made);
    if (!is_priced_at_once(made) || !best || best->optimal != Optimal::all) continue;
    for (const double share : {0.3, 0.9, 1.1, 4.0}) {
      CAPTURE(share);
      made.options.below_ns = share * best->cost.ns;
      const auto found = plan(made);
      REQUIRE(found);
      if (share < 1) {
        CHECK(found->cost.ns >= made.options.below_ns);
        CHECK(found->optimal == Optimal::all);
        ++none;
      } else if (found->optimal == Optimal::all) {
        CHECK(found->cost.ns <= best->cost.ns * (1 + 1e-9));
        ++there;
      }
    }
  }
  CHECK(none > 100);
  CHECK(there > 100);
}

TEST_CASE("where sparse operands meet all is looked for") {
  std::size_t compared = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    OwnedProblem made = random_network(seed, seed % 4 == 0, true);
    const auto best = plan(made);
    if (!best || is_priced_at_once(made)) continue;
    made.options.below_ns = best->cost.ns / 2;
    CHECK(plan(made)->schedule == best->schedule);
    ++compared;
  }
  CHECK(compared > 10);
}

TEST_CASE("a part of a proof's effort proves less") {
  OwnedProblem made = forest_problem(
      "R = T:njm:sss:371 A:jl:ss:332 B:nkj:sss:56 C:nkj:sss:124 -> l; O = D:jl:ss:83 E:mlj:sss:238 R:l -> m",
      {{'n', 20}, {'j', 10}, {'m', 20}, {'l', 30}, {'k', 12}});
  made.options.prove = true;
  made.options.proof_share = 1e-6;
  const auto found = plan(made);
  REQUIRE(found);
  CHECK(found->optimal != Optimal::all);
}

}  // namespace problem_bound_test
