#include "engine/plan/space/alternatives.h"

#include <doctest/doctest.h>

#include <vector>

#include "engine/plan/cost/cost_model.h"
#include "unit/plan/networks.h"

namespace access_paths_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("sparse operands that are not pinned may be converted; two accesses of one share a conversion at best") {
  OwnedProblem made = problem("B:jr M:ij:ss:50 M:jk:ss:50 -> irk", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 4}});
  made.options.calls = 10;
  const PathSpace space(made);
  REQUIRE(space.convertible() == 2);
  const double once =
      conversion_ns(facts_of(made.operands, made.network.assignments[0].terms[0].factors[1].tensor), made.options.machine) / 10;
  CHECK(once > 0);
  CHECK(space.least_ns({}) == 0);
  CHECK(space.least_ns({2}) == once);
  CHECK(space.most_ns({2}) == once);
  CHECK(space.least_ns({3}) == once);
  CHECK(space.most_ns({3}) == once + once);
  for (OperandFacts& operand : made.operands) operand.pinned = true;
  CHECK(PathSpace(made).convertible() == 0);
}

TEST_CASE("of what is chosen everything is converted but the operand whose positions the result has") {
  const OwnedProblem made = problem("B:jr M:ij:ss:50 N:jk:ss:50 -> irk", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 4}});
  const PathSpace space(made);
  Contractions contractions;
  contractions.tensors.resize(4);
  const AccessPath stored, cheap = AccessPath::of_loops(4), affordable = AccessPath::of_loops(16);
  CHECK(space.paths(contractions, {3}) == AccessPaths{stored, cheap, cheap, stored});
  CHECK(space.paths(contractions, {2, 16}) == AccessPaths{stored, stored, affordable, stored});
  contractions.tensors.back().like = 2;
  CHECK(space.converted_in(contractions) == 1);
  CHECK(space.paths(contractions, {3}) == AccessPaths{stored, cheap, stored, stored});
}

TEST_CASE("transposed operands have one path at all their occurrences, and one conversion") {
  OwnedProblem made = problem("M:ij:ss:600 A:kj A:kj N:rj -> ikr", {{'i', 200}, {'j', 300}, {'k', 64}, {'r', 8}});
  const PathSpace space(made);
  CHECK(space.transposed() == std::vector<std::uint64_t>{3, 1, 2});
  Contractions contractions;
  contractions.tensors.resize(5);
  const AccessPath stored, turned = AccessPath::transposed(0);
  CHECK(space.paths(contractions, {0, 4, 1}) == AccessPaths{stored, turned, turned, stored, stored});
  CHECK(space.paths(contractions, {1, 4, 2}) == AccessPaths{AccessPath::of_loops(4), stored, stored, turned, stored});
  const double once = conversion_ns(facts_of(made.operands, made.network.assignments[0].terms[0].factors[1].tensor), made.options.machine);
  CHECK(space.least_ns({0, 4, 1}) == once);
  CHECK(space.most_ns({0, 4, 1}) == once);
}

TEST_CASE("more room gives other layouts only where a dense level comes to fit") {
  // 10 entries in 100 rows: there are some 10 combinations for each that is met.
  const OwnedProblem few = problem("M:ij:ss:10 -> i", {{'i', 100}, {'j', 1000}});
  const PathSpace sparse(few);
  const double rows = 100 / few.operands[0].statistics.distinct(ModeSet{1});
  REQUIRE(rows > dense_fill_limits[0]);
  REQUIRE(rows <= dense_fill_limits[2]);
  CHECK_FALSE(sparse.differs(1, 1));
  CHECK(sparse.differs(1, 2));
  CHECK_FALSE(sparse.differs(0, 2));
  const OwnedProblem full = problem("M:ij:ss:5000 -> i", {{'i', 100}, {'j', 1000}});
  const PathSpace dense(full);
  CHECK_FALSE(dense.differs(1, 1));
}

}  // namespace access_paths_test
