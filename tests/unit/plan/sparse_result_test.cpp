#include <doctest/doctest.h>

#include <algorithm>

#include "engine/plan/binding.h"
#include "engine/plan/schedule_text.h"
#include "engine/plan/statements.h"
#include "unit/plan/networks.h"
#include "unit/plan/random_networks.h"

namespace weft::plan_test {
namespace {

const ScheduledTensor& result_of(const Plan& plan) { return plan.schedule.tensors.back(); }

Problem spgemm(const std::string& extent = "100000", double rows = 10) {
  const std::uint64_t n = std::stoull(extent);
  const std::string entries = std::to_string(static_cast<std::uint64_t>(static_cast<double>(n) * rows));
  return problem("B:ik:ds:" + entries + " C:kj:ds:" + entries + " -> ij", {{'i', n}, {'j', n}, {'k', n}});
}

}  // namespace

TEST_CASE("SpGEMM is Gustavson's: rows of the result are gathered in a workspace and drained") {
  const Plan found = planned(spgemm());
  CAPTURE(print(found.schedule, spgemm().network));
  CHECK(result_of(found).format.text() == "ds:0,1");
  const ScheduledStatement& statement = found.schedule.statements.front();
  CHECK(print_indices(statement.loops, spgemm().network) == "i,k,j");
  CHECK(statement.drained.has_value());
  CHECK(found.schedule.roots.front() == RootReduction::owner);
}

}  // namespace weft::plan_test
