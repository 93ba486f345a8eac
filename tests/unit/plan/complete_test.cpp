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
  const Contractions contractions = contractions_of(made.network, flat_tree(2), {2}, made.operands, made.options);
  const AccessPaths paths{AccessPath::of_loops(), AccessPath::of_loops(), {}};
  const CostModel model(contractions, made, paths);
  const Schedule done = complete(contractions, {{{1, 0, 2}}, {0}}, made.network, model, paths, made.operands);
  CHECK(done.tensors[0].converted);
  CHECK(done.tensors[0].format.text() == "ss:1,0");
  CHECK(done.tensors[1].converted);
  CHECK(done.tensors[1].format.text() == "ss:1,0");
  const Schedule other = complete(contractions, {{{2, 1, 0}}, {0}}, made.network, model, paths, made.operands);
  CHECK(other.tensors[0].converted);
  CHECK_FALSE(other.tensors[1].converted);
  CHECK(check(done, made).has_value());
  CHECK(check(other, made).has_value());
}

TEST_CASE("an intermediate is stored in the order of the loops that write it") {
  const ContractionTree tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  const OwnedProblem made = problem("T:ijk:sss:900 B:jr C:kr -> ir", {{'i', 10}, {'j', 10}, {'k', 10}, {'r', 8}});
  const Contractions contractions =
      contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options);
  const CostModel model(contractions, made);
  const Schedule done = complete(contractions, {{{1, 0, 2, 3}, {1, 0, 3}}, {0, 1}}, made.network, model, {}, made.operands);
  CHECK(done.tensors[3].format.text() == "ddd:1,0,2");
  CHECK(done.statements[0].vector == IndexId{3});
  CHECK(done.roots.size() == 1);
  CHECK(check(done, made).has_value());
}

}  // namespace complete_test
