#include "engine/plan/explain/explanation.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/plan/search/planned.h"
#include "unit/plan/networks.h"

namespace explanation_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

OwnedProblem mttkrp() {
  return problem("T:ijk:sss:3000000 B:jr C:kr -> ir", {{'i', 500}, {'j', 500}, {'k', 500}, {'r', 32}});
}

const ExplainedLayout& layout(const Explanation& explained, const std::string& name) {
  const auto found = std::ranges::find(explained.layouts, name, &ExplainedLayout::name);
  REQUIRE(found != explained.layouts.end());
  return *found;
}

}  // namespace

TEST_CASE("figures of an explanation are those of the cost, and every loop has a statement") {
  const OwnedProblem made = mttkrp();
  const Plan found = planned(made);
  const Explanation explained = explanation(found, made);
  REQUIRE(explained.loops.size() == found.cost.loops.size());
  double sum = 0;
  for (std::size_t loop = 0; loop < explained.loops.size(); ++loop) {
    CHECK(explained.loops[loop].ns == found.cost.loops[loop].ns);
    CHECK(explained.loops[loop].iterations == found.cost.loops[loop].iterations);
    CHECK(explained.loops[loop].statement < explained.statements.size());
    CHECK_FALSE(explained.loops[loop].counted.has_value());
    sum += explained.loops[loop].ns;
  }
  double by_statement = 0;
  for (const ExplainedStatement& statement : explained.statements) by_statement += statement.ns;
  CHECK(by_statement == doctest::Approx(sum));
  REQUIRE(explained.statements.size() == 2);
  CHECK(explained.statements[0].written_by == std::vector<std::int32_t>{-1, -1});
  CHECK(std::ranges::count(explained.statements[1].written_by, 0) == 1);
  CHECK(explained.statements[1].fused == 2);
  CHECK(explained.loops[0].parallel);
  CHECK(explained.loops[0].how == "walks T");
  REQUIRE(explained.workspaces.size() == 1);
  CHECK(explained.workspaces[0].indices == std::vector<std::string>{"r"});
  CHECK(explained.workspaces[0].bytes == 32 * 8);
  CHECK(explained.workspaces[0].place == "inside loops i, j");
  CHECK(layout(explained, "T").reason == "kept: the loops meet its levels i, j, k in stored order");
  CHECK(layout(explained, "R").role == "result");
}

TEST_CASE("a loop walks what the statements that share it bind there, and no more") {
  const OwnedProblem made = problem("M:ij:ss:50 v:j N:ik:ss:60 -> ik", {{'i', 20}, {'j', 20}, {'k', 20}});
  const auto given = plan_given(
      schedule_of(made,
                  "schedule\n tree ((M * v) * N)\n layout M ss:0,1 f64\n layout v d:0 f64\n layout N ss:0,1 f64\n"
                  " intermediate x[i] d:0 f64\n result R dd:0,1 f64\n x[i] += M[i,j] * v[j] loops i,j\n"
                  " R[i,k] += x[i] * N[i,k] loops i,k fused 1\n parallel i owner\n"),
      made);
  REQUIRE_MESSAGE(given.has_value(), given.error().message);
  const Explanation explained = explanation(*given, made);
  std::vector<std::string> how;
  for (const ExplainedLoop& loop : explained.loops) how.push_back(loop.index + " " + loop.how);
  CHECK(how == std::vector<std::string>{"i merges M, N", "j walks M", "k walks N"});
  CHECK(explained.statements[1].iterations == explained.loops[2].iterations);
}

TEST_CASE("conversions say what they are for and what they cost") {
  OwnedProblem made = problem("A:ipq:sss:17280 B:jpr:sss:17280 C:kqr:sss:17280 D:jkr:sss:17280 -> ijk",
                         {{'i', 120}, {'j', 120}, {'k', 120}, {'p', 120}, {'q', 120}, {'r', 120}});
  made.options.calls = 1000;
  const Explanation explained = explanation(planned(made), made);
  const auto converted = std::ranges::find(explained.layouts, true, &ExplainedLayout::converted);
  REQUIRE(converted != explained.layouts.end());
  CHECK(converted->conversion_ns > 0);
  CHECK(converted->reason.starts_with("converted from sss:0,1,2: "));
  CHECK(converted->reason.ends_with(" a run over 1000 calls"));
  CHECK_FALSE(explained.runner_up.schedule.empty());
  CHECK(explained.runner_up.cost_ns > 0);
}

TEST_CASE("a pinned tree that costs binds, one that is chosen anyway does not") {
  OwnedProblem made = mttkrp();
  CHECK(binding_constraints(planned(made), made, plan).empty());
  const Plan free = planned(made);

  OwnedProblem pinned = made;
  pinned.options.tree = flat_tree(3);
  const Plan slower = planned(pinned);
  REQUIRE(slower.cost.ns > free.cost.ns);
  const auto found = binding_constraints(slower, pinned, plan);
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "contraction tree");
  CHECK(found[0].binds);
  CHECK(found[0].effect.starts_with("without it "));

  pinned.options.tree = free.schedule.tree;
  const auto same = binding_constraints(planned(pinned), pinned, plan);
  REQUIRE(same.size() == 1);
  CHECK_FALSE(same[0].binds);
}

TEST_CASE("pinned layouts, memory limits and strict floating point are constraints") {
  OwnedProblem made = mttkrp();
  made.operands[0].pinned = true;
  made.options.memory_limit = std::uint64_t{1} << 40;
  made.options.strict_fp = true;
  const Plan found = planned(made);
  std::vector<std::string> names;
  for (const ExplainedConstraint& constraint : binding_constraints(found, made, plan)) {
    names.push_back(constraint.name);
  }
  CHECK(names == std::vector<std::string>{"layout of T", "memory limit of 1.1 TB", "strict floating point"});

  const auto given = plan_given(found.schedule, made);
  REQUIRE(given.has_value());
  const auto by_user = binding_constraints(*given, made, plan);
  REQUIRE(by_user.size() == 1);
  CHECK(by_user[0].name == "schedule");
}

}  // namespace explanation_test
