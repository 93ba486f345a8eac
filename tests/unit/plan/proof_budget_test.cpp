// One budget for the proofs of all parts of a network.
#include <doctest/doctest.h>

#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/search_budget.h"
#include "unit/plan/networks.h"

namespace proof_budget_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

OwnedProblem several() {
  OwnedProblem made =
      forest_problem("S = M:ij:ss:100 A:ik:ss:60 B:jk -> ij; O = S:ij D:jh:ss:50 -> ih", {{'i', 20}, {'j', 20}, {'k', 8}, {'h', 6}});
  made.options.prove = true;
  return made;
}

}  // namespace

TEST_CASE("what is left of it is what the parts have not taken") {
  OwnedProblem made = several();
  made.options.budget = std::make_shared<ProofBudget>(budget_of_several);
  REQUIRE(plan(made));
  CHECK(made.options.budget->work < budget_of_several.work);
  CHECK_FALSE(made.options.budget->spent());
}

TEST_CASE("a budget that is spent claims nothing, and the plan is one all the same") {
  OwnedProblem made = several();
  const Plan enough = *plan(made);
  for (const ProofBudget& little : {ProofBudget{0, 1000}, ProofBudget{1000, 0}, ProofBudget{1, 1}}) {
    made.options.budget = std::make_shared<ProofBudget>(little);
    const auto found = plan(made);
    REQUIRE(found);
    CHECK(found->optimal != Optimal::all);
    CHECK(made.options.budget->spent());
    CHECK(check(found->schedule, made));
    CHECK(found->cost.ns <= 1.5 * enough.cost.ns);
  }
  // None is given: plan() makes one, and the same plan comes out each time.
  made.options.budget = nullptr;
  CHECK(plan(made)->schedule == enough.schedule);
  CHECK_FALSE(made.options.budget);
}

TEST_CASE("networks that took most of a minute price as many loops as the budget has, and no more") {
  OwnedProblem made = forest_problem(
      "R = T:njm:sss:371 A:jl:ss:332 B:nkj:sss:56 C:nkj:sss:124 -> l; O = D:jl:ss:83 E:mlj:sss:238 R:l -> m",
      {{'n', 74}, {'j', 10}, {'m', 50}, {'l', 77}, {'k', 32}});
  made.options.prove = true;
  made.options.budget = std::make_shared<ProofBudget>(budget_of_several);
  const auto found = plan(made);
  REQUIRE(found);
  CHECK(made.options.budget->spent());
  CHECK(found->optimal != Optimal::all);
}

}  // namespace proof_budget_test
