#include <doctest/doctest.h>

#include "engine/plan/cost/cost.h"
#include "engine/plan/search/baseline.h"
#include "unit/plan/networks.h"

namespace cost_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("cost() lists every loop once, in the order of the nest") {
  const OwnedProblem made = problem("T:ijk:sss:4000 B:jr C:kr -> ir", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 32}});
  const Schedule schedule = schedule_of(
      made,
      "schedule\n tree ((T * C) * B)\n layout T sss f64\n layout C dd f64\n layout B dd f64\n"
      " intermediate x[i,j,r] ddd f64\n result R dd f64\n x[i,j,r] += T[i,j,k] * C[k,r] loops i,j,k,r vector r\n"
      " R[i,r] += x[i,j,r] * B[j,r] loops i,j,r fused 2 vector r\n parallel i owner\n");
  const Cost found = cost(schedule, made);
  REQUIRE(found.loops.size() == 5);
  const char* names[] = {"i", "j", "k", "r", "r"};
  const std::uint32_t depths[] = {0, 1, 2, 3, 2};
  for (std::size_t loop = 0; loop < 5; ++loop) {
    CHECK(found.loops[loop].index == names[loop]);
    CHECK(found.loops[loop].depth == depths[loop]);
    CHECK(found.loops[loop].statement == (loop == 4 ? 1u : 0u));
  }
  CHECK(found.loops[2].iterations == doctest::Approx(4000));
  CHECK(found.loops[3].iterations == doctest::Approx(4000 * 32));
  CHECK(found.flops == doctest::Approx(2 * 32 * (4000 + found.loops[1].iterations)));
  CHECK(found.conversion_ns == 0);
  CHECK(found.peak_bytes > 0);
}

TEST_CASE("conversions are paid once and divided by the calls") {
  OwnedProblem made = problem("D:ji:ss:5000 T:ijk:sss:5000 -> ", {{'i', 200}, {'j', 200}, {'k', 200}});
  const Schedule schedule = baseline(made);
  const Cost once = cost(schedule, made);
  made.options.calls = 100;
  const Cost often = cost(schedule, made);
  CHECK(once.conversion_ns > 0);
  CHECK(often.conversion_ns == once.conversion_ns);
  CHECK(once.ns - often.ns == doctest::Approx(once.conversion_ns * 0.99));
}

TEST_CASE("private copies, serial roots and lost vectors show in the price") {
  const OwnedProblem made = problem("T:ij:ss:400000 B:ir -> jr", {{'i', 2000}, {'j', 2000}, {'r', 32}});
  const std::string text =
      "schedule\n tree (T * B)\n layout T ss f64\n layout B dd f64\n result R dd f64\n"
      " R[j,r] += T[i,j] * B[i,r] loops i,j,r";
  const auto ns = [&](const std::string& rest) {
    return cost(schedule_of(made, text + rest), made).ns;
  };
  CHECK(ns(" vector r\n parallel i private\n") < ns(" vector r\n parallel i serial\n"));
  CHECK(ns(" vector r\n parallel i serial\n") < ns("\n parallel i serial\n"));
}

TEST_CASE("nothing to do costs next to nothing") {
  const OwnedProblem empty = problem("T:ij:ss:5 x:j -> i", {{'i', 0}, {'j', 5}});
  CHECK(cost(baseline(empty), empty).flops ==
        0);
  const OwnedProblem scalars = problem("s:- t:- -> ", {});
  const Cost found =
      cost(baseline(scalars), scalars);
  CHECK(found.loops.empty());
  CHECK(found.ns > 0);
}

}  // namespace cost_test
