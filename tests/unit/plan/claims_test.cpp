// What --prove claims, against every schedule of tiny networks.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "engine/network/network.h"
#include "engine/plan/cost/cost.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/schedule.h"
#include "oracle/enumerate.h"
#include "unit/plan/random_networks.h"
#include "unit/sanitized.h"

namespace claims_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

unsigned environment(const char* name, unsigned usual) {
  const char* given = std::getenv(name);
  return given != nullptr ? static_cast<unsigned>(std::stoul(given)) : usual;
}

}  // namespace

// WEFT_SEED=1 WEFT_COUNT=20000 test_plan -tc='no claim*'
TEST_CASE("no claim of a proof is refuted by an enumeration") {
  const unsigned first = environment("WEFT_SEED", 5000);
  const unsigned count = environment("WEFT_COUNT", scaled(48));
  constexpr double rounding = 1e-6;  // of sums of prices in different orders
  unsigned claimed = 0, compared = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    INFO("to repeat: WEFT_SEED=", seed, " WEFT_COUNT=1 test_plan -tc='no claim*'");
    OwnedProblem made = random_network(seed, seed % 3 == 0, seed % 4 == 0);
    CAPTURE(print(made.network));
    made.options.prove = true;
    const auto found = plan(made);
    REQUIRE(found.has_value());
    if (found->optimal != Optimal::all) continue;
    ++claimed;
    constexpr std::size_t limit = 3000;
    const std::vector<Schedule> all = enumerate_schedules(made, limit);
    if (all.size() == limit) continue;
    ++compared;
    CAPTURE(print(found->schedule, made.network));
    for (const Schedule& schedule : all) {
      const double ns = cost(schedule, made).ns;
      if (ns >= found->cost.ns * (1 - rounding)) continue;
      CAPTURE(print(schedule, made.network));
      CHECK(ns >= found->cost.ns);
    }
  }
  if (count >= 40) CHECK(claimed >= count / 2);
  if (count >= 40) CHECK(compared >= count / 3);
}

}  // namespace claims_test
