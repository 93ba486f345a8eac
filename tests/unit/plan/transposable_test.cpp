#include "engine/plan/space/alternatives.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "unit/plan/networks.h"

namespace transposable_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

// Operands by name, with the mode that becomes the last.
std::string transposable(const OwnedProblem& made) {
  std::string found;
  for (const Transposable& one : transposable_operands(made)) {
    found += made.network.tensors[one.tensor].name + std::to_string(one.last) + " ";
  }
  return found;
}

const std::map<char, std::uint64_t> extents{{'i', 2000}, {'j', 3000}, {'k', 64}, {'r', 32}};

}  // namespace

TEST_CASE("dense operands are transposed where sparse ones filter their last index alone") {
  CHECK(transposable(problem("M:ij:ss:60000 A:kj -> ik", extents)) == "A0 ");
  CHECK(transposable(problem("M:ij:ss:60000 A:jk -> ik", extents)).empty());
  CHECK(transposable(problem("M:ij:ss:60000 A:ij -> i", extents)).empty());  // both are filtered
  CHECK(transposable(problem("M:ij:ss:60000 A:krj -> ikr", extents)) == "A0 ");  // the longer one
  OwnedProblem made = problem("M:ij:ss:60000 A:kj -> ik", extents);
  made.operands[1].pinned = true;
  CHECK(transposable(made).empty());
  CHECK(transposable(problem("M:ij:ss:60000 A:jj -> i", extents)).empty());  // a diagonal
  // Another access is as it should be.
  CHECK(transposable(problem("M:ij:ss:90 A:kj A:jk -> ik", {{'i', 20}, {'j', 30}, {'k', 30}})).empty());
}

TEST_CASE("each operand has an order of its own") {
  CHECK(transposable(problem("T:ijk:sss:60000 B:rj C:rk -> ir", extents)) == "B0 C0 ");
}

TEST_CASE("strict floating point sums over nothing in vector code") {
  OwnedProblem made = problem("A:kj -> k", extents);
  CHECK(transposable(made).empty());
  made.options.strict_fp = true;
  CHECK(transposable(made) == "A0 ");
}

TEST_CASE("a plan converts a dense operand where that pays and fits") {
  OwnedProblem made = problem("M:ij:ss:60000 A:kj -> ik", extents);
  made.options.calls = 1000;
  const Plan found = planned(made);
  const ScheduledTensor& matrix = found.schedule.tensors[1];
  CHECK(matrix.converted);
  CHECK(matrix.format.mode_order == std::vector<std::uint32_t>{1, 0});
  CHECK(found.proof.find("dense operands transposed") != std::string::npos);
  made.operands[1].pinned = true;
  const Plan kept = planned(made);
  CHECK_FALSE(kept.schedule.tensors[1].converted);
  CHECK(found.cost.ns < kept.cost.ns);
  // Once, the conversion takes longer than it saves.
  made = problem("M:ij:ss:600 A:kj -> ik", extents);
  CHECK_FALSE(planned(made).schedule.tensors[1].converted);
  // Nor where there is no room for the copy.
  made = problem("M:ij:ss:60000 A:kj -> ik", extents);
  made.options.memory_limit = kept.cost.announced_bytes;
  CHECK(planned(made).cost.announced_bytes <= made.options.memory_limit);
}

}  // namespace transposable_test
