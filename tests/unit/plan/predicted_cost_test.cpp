// Times predicted for the threads of a run, and of each nest.
#include <doctest/doctest.h>

#include <numeric>

#include "engine/plan/explain/explanation.h"
#include "unit/plan/networks.h"

namespace predicted_cost_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

std::vector<OwnedProblem> problems() {
  return {problem("T:ijk:sss:3000000 B:jr C:kr -> ir", {{'i', 500}, {'j', 500}, {'k', 500}, {'r', 32}}),
          problem("A:ij:ss:90000 B:jk:ss:90000 -> ik", {{'i', 3000}, {'j', 3000}, {'k', 3000}}),
          forest_problem("S = M:ij:ss:90000 A:ik B:jk -> ij; O = S:ij D:jh -> ih", {{'i', 3000}, {'j', 3000}, {'k', 16}, {'h', 16}})};
}

}  // namespace

TEST_CASE("nests and conversions are the whole") {
  for (const OwnedProblem& made : problems()) {
    const Plan found = planned(made);
    const Cost priced = cost(found.schedule, made);
    const double nests = std::accumulate(priced.nests_ns.begin(), priced.nests_ns.end(), 0.0);
    CHECK(nests + priced.conversion_ns / made.options.calls == doctest::Approx(priced.ns).epsilon(1e-12));
  }
}

TEST_CASE("fewer threads take longer, as many as the plan was chosen for the same") {
  for (const OwnedProblem& made : problems()) {
    const Plan found = planned(made);
    const auto on = [&](unsigned threads) {
      return predicted_cost(found.schedule, made, threads).ns;
    };
    CHECK(on(8) == cost(found.schedule, made).ns);
    CHECK(on(1) > 1.8 * on(2));
    CHECK(on(1) < 2.2 * on(2));
    CHECK(on(2) > 1.5 * on(4));
  }
}

TEST_CASE("explanations tell of every nest, with all that its loops move") {
  for (const OwnedProblem& made : problems()) {
    const Plan found = planned(made);
    const Explanation told = explanation(found, made, 2);
    CHECK(told.of_this_run.threads == 2);
    CHECK(told.threads == 8);
    std::size_t roots = 0;
    for (const ExplainedStatement& statement : told.statements) roots += statement.fused == 0 ? 1 : 0;
    CHECK(told.nests.size() == roots);
    double ns = told.of_this_run.conversion_ns, bytes = 0;
    for (const ExplainedNest& nest : told.nests) {
      ns += nest.ns;
      bytes += nest.bytes;
      CHECK_FALSE(nest.measured_ms);
    }
    CHECK(ns == doctest::Approx(told.of_this_run.ns).epsilon(1e-12));
    CHECK(bytes == doctest::Approx(std::accumulate(told.loops.begin(), told.loops.end(), 0.0, [](double sum, const ExplainedLoop& loop) {
                     return sum + loop.bytes;
                   })));
  }
}

}  // namespace predicted_cost_test
