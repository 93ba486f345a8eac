#include "engine/plan/search/complete.h"

#include <doctest/doctest.h>

#include "engine/plan/schedule/check.h"
#include "unit/plan/networks.h"

namespace complete_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("operands follow the loops where their paths say so, and are not converted to what they already are") {
  const OwnedProblem made =
      problem("A:ij:ss:2000 B:kj:ss:2000 -> ik", {{'i', 100}, {'j', 100000}, {'k', 100000}});
  Schedule schedule = statements_of(made.network, flat_tree(2), {2}, made.operands, made.options);
  const AccessPaths paths{AccessPath::of_loops(), AccessPath::of_loops(), {}};
  const CostModel model(schedule, made, paths);
  schedule.statements[0].loops = {1, 0, 2};
  const Schedule done = complete(schedule, made.network, model, paths, made.operands);
  CHECK(done.tensors[0].converted);
  CHECK(done.tensors[0].format.text() == "ss:1,0");
  CHECK(done.tensors[1].converted);
  CHECK(done.tensors[1].format.text() == "ss:1,0");
  schedule.statements[0].loops = {2, 1, 0};
  const Schedule other = complete(schedule, made.network, model, paths, made.operands);
  CHECK(other.tensors[0].converted);
  CHECK_FALSE(other.tensors[1].converted);
  CHECK(check(done, made).has_value());
  CHECK(check(other, made).has_value());
}

TEST_CASE("an intermediate is stored in the order of the loops that write it") {
  const ContractionTree tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  const OwnedProblem made = problem("T:ijk:sss:900 B:jr C:kr -> ir", {{'i', 10}, {'j', 10}, {'k', 10}, {'r', 8}});
  Schedule schedule =
      statements_of(made.network, tree, statement_orders(tree, 1).front(), made.operands, made.options);
  const CostModel model(schedule, made);
  schedule.statements[0].loops = {1, 0, 2, 3};
  schedule.statements[1].loops = {1, 0, 3};
  schedule.statements[1].fused = 1;
  const Schedule done = complete(schedule, made.network, model, {}, made.operands);
  CHECK(done.tensors[3].format.text() == "ddd:1,0,2");
  CHECK(done.statements[0].vector == IndexId{3});
  CHECK(done.roots.size() == 1);
  CHECK(check(done, made).has_value());
}

}  // namespace complete_test
