#include <doctest/doctest.h>

#include <set>

#include "engine/plan/schedule/check.h"
#include "tests/oracle/enumerate.h"
#include "unit/plan/networks.h"

namespace enumerate_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("every loop order of one product, and every fusion of two") {
  const OwnedProblem one = problem("A:ij B:jk -> ik", {{'i', 4}, {'j', 4}, {'k', 4}});
  CHECK(enumerate_schedules(one, 1000).size() == 6);
  OwnedProblem two = problem("a:i b:i c:i -> i", {{'i', 4}});
  two.options.tree = *parse_tree("((a * b) * c)", {"a", "b", "c"});
  CHECK(enumerate_schedules(two, 1000).size() == 2);  // fused or not
  two.options.tree.reset();
  CHECK(enumerate_schedules(two, 1000).size() == 7);
  CHECK(enumerate_schedules(two, 3).size() == 3);
}

TEST_CASE("enumerated schedules are legal, different and read back") {
  const OwnedProblem made = problem("A:ij:ss:30 B:jk:ss:30 c:k -> i", {{'i', 9}, {'j', 9}, {'k', 9}});
  const std::vector<Schedule> all = enumerate_schedules(made, 5000);
  CHECK(all.size() > 100);
  std::set<std::string> texts;
  for (const Schedule& schedule : all) {
    REQUIRE(check(schedule, made).has_value());
    const std::string text = print(schedule, made.network);
    texts.insert(text);
    REQUIRE(schedule_of(made, text) == schedule);
  }
  // Kept and converted layouts may come to the same where the stored order suits the loops.
  CHECK(texts.size() * 4 > all.size());
}

}  // namespace enumerate_test
