#include "engine/plan/search/search.h"

#include <doctest/doctest.h>

#include "engine/plan/schedule/check.h"
#include "unit/plan/networks.h"

namespace search_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("candidates are legal, sorted and reproducible") {
  const OwnedProblem made = problem("A:ipq:sss:500 B:jpr:sss:500 C:kqr:sss:500 -> ijk",
                               {{'i', 30}, {'j', 30}, {'k', 30}, {'p', 30}, {'q', 30}, {'r', 30}});
  const SearchResult found = search_schedules(made);
  REQUIRE(found.candidates.size() > 2);
  for (std::size_t number = 0; number < found.candidates.size(); ++number) {
    const Candidate& candidate = found.candidates[number];
    CHECK(check(candidate.schedule, made).has_value());
    CHECK(candidate.cost == cost(candidate.schedule, made));
    if (number > 0) CHECK(found.candidates[number - 1].cost.ns <= candidate.cost.ns);
  }
  const SearchResult again = search_schedules(made);
  CHECK(again.candidates.front().schedule == found.candidates.front().schedule);
  CHECK(again.tried == found.tried);
}

TEST_CASE("conversions come with the calls that pay for them") {
  OwnedProblem made = problem("T:ijk:sss:200000 B:ir C:jr -> kr", {{'i', 50}, {'j', 300}, {'k', 3000}, {'r', 32}});
  const auto converts = [&] {
    const SearchResult found = search_schedules(made);
    for (const ScheduledTensor& tensor : found.candidates.front().schedule.tensors) {
      if (tensor.converted) return true;
    }
    return false;
  };
  made.options.calls = 1;
  CHECK_FALSE(converts());
  made.operands[0].pinned = true;
  made.options.calls = 1e6;
  CHECK_FALSE(converts());
}

TEST_CASE("trees whose intermediates no fusion makes fit are left out") {
  OwnedProblem made = problem("A:ij B:kl C:jk -> il", {{'i', 60}, {'j', 60}, {'k', 60}, {'l', 60}});
  const SearchResult unlimited = search_schedules(made);
  CHECK(unlimited.trees_too_large == 0);
  std::uint64_t operands = 0;
  for (const OperandFacts& facts : made.operands) operands += facts.bytes;
  made.options.memory_limit = operands + 60 * 60 * 8 + 4;  // beside the result there is not even room for a scalar
  const SearchResult limited = search_schedules(made);
  CHECK(limited.trees == 1);  // the product without intermediates
  CHECK(limited.trees_too_large == 3);
  REQUIRE_FALSE(limited.candidates.empty());
  CHECK(limited.candidates.front().schedule.statements.size() == 1);
  CHECK(limited.candidates.front().cost.peak_bytes <= made.options.memory_limit);
  made.options.memory_limit = operands;  // nothing fits: every tree stays, for the error
  CHECK(search_schedules(made).trees_too_large == 0);
}

TEST_CASE("more is tried the more is at stake, and everything for a proof") {
  OwnedProblem made = problem("T:ijkl:ssss:20000 B:jr C:kr D:lr -> ir", {{'i', 60}, {'j', 60}, {'k', 60}, {'l', 60}, {'r', 8}});
  const SearchResult once = search_schedules(made);
  CHECK(once.spent);
  CHECK_FALSE(once.frontier.all_trees());
  REQUIRE_FALSE(once.candidates.empty());
  made.options.prove = true;
  const SearchResult proving = search_schedules(made);
  CHECK_FALSE(proving.spent);
  CHECK(proving.frontier.all_trees());
  CHECK(proving.candidates.front().cost.ns <= once.candidates.front().cost.ns);
  made.options.prove = false;
  made.options.calls = 1e6;
  const SearchResult often = search_schedules(made);
  CHECK_FALSE(often.spent);
  CHECK(often.frontier.all_trees());
}

}  // namespace search_test
