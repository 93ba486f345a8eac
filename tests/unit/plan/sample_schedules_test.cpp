#include "tests/oracle/sample_schedules.h"

#include <doctest/doctest.h>

#include <set>

#include "engine/plan/schedule/check.h"
#include "engine/plan/space/contraction_variants.h"
#include "unit/plan/networks.h"

namespace sample_schedules_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("sampled schedules are legal, different and the same for the same seed") {
  const OwnedProblem made = problem("T:ijk:sss:400 B:jr C:kr -> ir", {{'i', 10}, {'j', 12}, {'k', 14}, {'r', 8}});
  const std::vector<Schedule> sampled = sample_schedules(made, 60, 7);
  CHECK(sampled.size() == 60);
  std::set<std::string> texts;
  std::set<std::string> trees;
  bool fused = false;
  bool converted = false;
  for (const Schedule& schedule : sampled) {
    REQUIRE(check(schedule, made).has_value());
    texts.insert(print(schedule, made.network));
    trees.insert(print(schedule.tree, {"T", "B", "C"}));
    for (const ScheduledStatement& statement : schedule.statements) fused = fused || statement.fused > 0;
    for (const ScheduledTensor& tensor : schedule.tensors) converted = converted || tensor.converted;
  }
  CHECK(texts.size() == sampled.size());
  CHECK(trees.size() == 4);
  CHECK(fused);
  CHECK(converted);
  CHECK(sample_schedules(made, 60, 7) == sampled);
  CHECK(sample_schedules(made, 60, 8) != sampled);
  const std::vector<Schedule> fewer = sample_schedules(made, 20, 7);
  CHECK(std::equal(fewer.begin(), fewer.end(), sampled.begin()));
}

TEST_CASE("where sparse operands meet, some sampled schedules copy fibers for lookups") {
  const OwnedProblem made = problem("M:ij:ss:300 A:ik:ss:300 B:kj:ss:300 -> ij", {{'i', 60}, {'j', 60}, {'k', 60}});
  std::size_t copying = 0;
  const std::vector<Schedule> sampled = sample_schedules(made, 60, 7);
  for (const Schedule& schedule : sampled) {
    bool copies = false;
    for (std::size_t statement = 0; statement < schedule.statements.size(); ++statement)
      copies = copies || is_mark_array_copy(schedule, statement);
    copying += copies ? 1 : 0;
  }
  CHECK(copying > 0);
  CHECK(copying < sampled.size());
}

TEST_CASE("a network with few schedules yields them all, and factors beyond six have random trees") {
  const OwnedProblem one = problem("a:i b:i -> i", {{'i', 4}});
  CHECK(sample_schedules(one, 50, 1).size() == 1);
  const OwnedProblem chain = problem("A:ab B:bc C:cd D:de E:ef F:fg G:gh -> ah",
                                {{'a', 3}, {'b', 3}, {'c', 3}, {'d', 3}, {'e', 3}, {'f', 3}, {'g', 3}, {'h', 3}});
  std::set<std::string> trees;
  for (const Schedule& schedule : sample_schedules(chain, 30, 3)) {
    trees.insert(print(schedule.tree, {"A", "B", "C", "D", "E", "F", "G"}));
  }
  CHECK(trees.size() > 5);
}

}  // namespace sample_schedules_test
