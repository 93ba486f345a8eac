#include "engine/plan/space/convertible_accesses.h"

#include <doctest/doctest.h>

#include <vector>

#include "engine/plan/cost/cost_model.h"
#include "unit/plan/networks.h"

namespace convertible_accesses_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("sparse operands that are not pinned may be converted; two accesses of one share a conversion at best") {
  OwnedProblem made = problem("B:jr M:ij:ss:50 M:jk:ss:50 -> irk", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 4}});
  made.options.calls = 10;
  const ConvertibleAccesses convertible(made);
  REQUIRE(convertible.size() == 2);
  const double once = conversion_ns(facts_of(made.operands, made.network.assignments[0].terms[0].factors[1].tensor), made.options.machine) / 10;
  CHECK(once > 0);
  CHECK(convertible.least_ns(0) == 0);
  CHECK(convertible.least_ns(2) == once);
  CHECK(convertible.most_ns(2) == once);
  CHECK(convertible.least_ns(3) == once);
  CHECK(convertible.most_ns(3) == once + once);
  for (OperandFacts& operand : made.operands) operand.pinned = true;
  CHECK(ConvertibleAccesses(made).empty());
}

TEST_CASE("of what is chosen every layout is free but that of the operand whose positions the result has") {
  const OwnedProblem made = problem("B:jr M:ij:ss:50 N:jk:ss:50 -> irk", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 4}});
  const ConvertibleAccesses convertible(made);
  Schedule schedule;
  schedule.tensors.resize(4);
  CHECK(convertible.freed(schedule, 3) == std::vector<bool>{false, true, true, false});
  CHECK(convertible.freed(schedule, 2) == std::vector<bool>{false, false, true, false});
  schedule.tensors.back().like = 2;
  CHECK(convertible.freed(schedule, 3) == std::vector<bool>{false, true, false, false});
}

TEST_CASE("more room gives other layouts only where a dense level comes to fit") {
  // 10 entries in 100 rows: there are some 10 combinations for each that is met.
  const OwnedProblem few = problem("M:ij:ss:10 -> i", {{'i', 100}, {'j', 1000}});
  const ConvertibleAccesses sparse(few);
  const double rows = 100 / few.operands[0].statistics.distinct(ModeSet{1});
  REQUIRE(rows > dense_fill_limits[0]);
  REQUIRE(rows <= dense_fill_limits[2]);
  CHECK_FALSE(sparse.differs(1, 1));
  CHECK(sparse.differs(1, 2));
  CHECK_FALSE(sparse.differs(0, 2));
  const OwnedProblem full = problem("M:ij:ss:5000 -> i", {{'i', 100}, {'j', 1000}});
  const ConvertibleAccesses dense(full);
  CHECK_FALSE(dense.differs(1, 1));
}

}  // namespace convertible_accesses_test
