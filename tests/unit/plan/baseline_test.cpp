#include <doctest/doctest.h>

#include "engine/plan/schedule/check.h"
#include "engine/plan/search/baseline.h"
#include "unit/plan/networks.h"

namespace baseline_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("the baseline follows the stored order and converts what is discordant") {
  const OwnedProblem made = problem("B:kr T:ijk:sss:5000 D:ji:ss:50 -> ir", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 8}});
  const Schedule schedule = baseline(made);
  REQUIRE(schedule.statements.size() == 1);
  CHECK(schedule.statements[0].loops == std::vector<IndexId>{0, 1, 2, 3});
  CHECK(schedule.statements[0].vector == IndexId{3});
  CHECK(schedule.roots == std::vector<RootReduction>{RootReduction::owner});
  CHECK_FALSE(schedule.tensors[1].converted);
  CHECK(schedule.tensors[2].converted);
  CHECK(schedule.tensors[2].format.text() == "ss:1,0");
  CHECK(check(schedule, made).has_value());
}

TEST_CASE("pinned operands lead the loops and are never converted") {
  OwnedProblem made = problem("T:ijk:sss:5000 D:ji:ss:50 -> ", {{'i', 20}, {'j', 20}, {'k', 20}});
  made.operands[1].pinned = true;
  const Schedule schedule = baseline(made);
  CHECK(schedule.statements[0].loops == std::vector<IndexId>{1, 0, 2});
  CHECK(schedule.tensors[0].converted);
  CHECK_FALSE(schedule.tensors[1].converted);
  CHECK(schedule.roots == std::vector<RootReduction>{RootReduction::serial});
}

TEST_CASE("a pinned tree has one nest per product") {
  OwnedProblem made = problem("A:ij B:jk C:kl -> il", {{'i', 4}, {'j', 4}, {'k', 4}, {'l', 4}});
  made.options.tree = *parse_tree("((A * B) * C)", {"A", "B", "C"});
  const Schedule schedule = baseline(made);
  CHECK(schedule.statements.size() == 2);
  CHECK(schedule.roots.size() == 2);
  CHECK(check(schedule, made).has_value());
}

}  // namespace baseline_test
