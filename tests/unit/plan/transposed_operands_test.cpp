#include "engine/plan/space/transposed_operands.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "unit/plan/networks.h"

namespace transposed_operands_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

using Orders = std::vector<std::vector<std::uint32_t>>;

// Of the operands in their order, for each set of facts.
std::vector<Orders> orders(const OwnedProblem& made) {
  std::vector<Orders> found;
  for (const std::vector<OperandFacts>& facts : transposed_operands(made)) {
    found.emplace_back();
    for (const OperandFacts& operand : facts) found.back().push_back(operand.format.mode_order);
  }
  return found;
}

const std::map<char, std::uint64_t> extents{{'i', 2000}, {'j', 3000}, {'k', 64}, {'r', 32}};

}  // namespace

TEST_CASE("dense operands are transposed where sparse ones filter their last index alone") {
  CHECK(orders(problem("M:ij:ss:60000 A:kj -> ik", extents)) == std::vector<Orders>{{{0, 1}, {1, 0}}});
  CHECK(orders(problem("M:ij:ss:60000 A:jk -> ik", extents)).empty());
  CHECK(orders(problem("M:ij:ss:60000 A:ij -> i", extents)).empty());  // both are filtered
  CHECK(orders(problem("M:ij:ss:60000 A:krj -> ikr", extents)) == std::vector<Orders>{{{0, 1}, {1, 2, 0}}});  // the longer one
  OwnedProblem made = problem("M:ij:ss:60000 A:kj -> ik", extents);
  made.operands[1].pinned = true;
  CHECK(orders(made).empty());
  CHECK(orders(problem("M:ij:ss:60000 A:jj -> i", extents)).empty());  // a diagonal
  CHECK(orders(problem("M:ij:ss:90 A:kj A:jk -> ik", {{'i', 20}, {'j', 30}, {'k', 30}})).empty());  // another access is as it should be
}

TEST_CASE("several are transposed together, and each alone") {
  const std::vector<Orders> found = orders(problem("T:ijk:sss:60000 B:rj C:rk -> ir", extents));
  const std::vector<std::uint32_t> given{0, 1};
  const std::vector<std::uint32_t> turned{1, 0};
  const std::vector<std::uint32_t> tensor{0, 1, 2};
  CHECK(found == std::vector<Orders>{{tensor, turned, turned}, {tensor, turned, given}, {tensor, given, turned}});
}

TEST_CASE("strict floating point sums over nothing in vector code") {
  OwnedProblem made = problem("A:kj -> k", extents);
  CHECK(orders(made).empty());
  made.options.strict_fp = true;
  CHECK(orders(made) == std::vector<Orders>{{{1, 0}}});
}

TEST_CASE("a plan converts a dense operand where that pays, and keeps the one without as what it is compared with") {
  OwnedProblem made = problem("M:ij:ss:60000 A:kj -> ik", extents);
  made.options.calls = 1000;
  const Plan found = planned(made);
  const ScheduledTensor& matrix = found.schedule.tensors[1];
  CHECK(matrix.converted);
  CHECK(matrix.format.mode_order == std::vector<std::uint32_t>{1, 0});
  REQUIRE(found.runner_up_cost.has_value());
  CHECK(found.cost.ns < found.runner_up_cost->ns);
  CHECK_FALSE(found.runner_up->tensors[1].converted);
  CHECK(found.proof.find("dense operands transposed") != std::string::npos);
  made.operands[1].pinned = true;
  const Plan kept = planned(made);
  CHECK_FALSE(kept.schedule.tensors[1].converted);
  CHECK(kept.cost.ns == found.runner_up_cost->ns);
  // Once, the conversion takes longer than it saves.
  made = problem("M:ij:ss:60000 A:kj -> ik", extents);
  CHECK_FALSE(planned(made).schedule.tensors[1].converted);
  // Nor where there is no room for the copy.
  made.options.calls = 1000;
  made.options.memory_limit = kept.cost.announced_bytes;
  CHECK(planned(made).cost.announced_bytes <= made.options.memory_limit);
}

}  // namespace transposed_operands_test
