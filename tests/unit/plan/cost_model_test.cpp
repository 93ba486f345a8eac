#include "engine/plan/cost/cost_model.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/plan/estimate/joins.h"
#include "engine/plan/schedule/check.h"
#include "unit/plan/modelled.h"

namespace cost_model_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

using Made = Modelled;

const StatementRange first_only{0, 0};

}  // namespace

TEST_CASE("iterations are extents times densities") {
  const Made made(problem("A:ij:ss:100 B:jk:ss:200 -> ", {{'i', 20}, {'j', 20}, {'k', 20}}), flat_tree(2));
  const CostModel model = made.model();
  CHECK(model.iterations(0, first_only) == 1);
  CHECK(model.iterations(7, first_only) == doctest::Approx(8000 * (100.0 / 400) * (200.0 / 400)));
  const LoopEstimate innermost = model.loop(3, 2, first_only);
  CHECK(innermost.iterations == doctest::Approx(10));
  CHECK(innermost.flops == doctest::Approx(20));
  CHECK_FALSE(innermost.decision.vector);
}

TEST_CASE("fibers are as long as what shares the outer loops meets them") {
  Made made(problem("K:ij:ss:600 K:jk K:ki -> ", {{'i', 200}, {'j', 200}, {'k', 200}}), *parse_tree("((K * K) * K)", {"K", "K", "K"}));
  const IndexSet outside = index_set({0, 2});
  const auto steps = [&](bool beside) {
    const CostModel model = made.model();
    return model.loop(outside, 1, first_only, beside ? model.filters(outside, {1, 1}) : 0).steps;
  };
  const double alone = steps(false);
  CHECK(steps(true) == alone);
  // Whatever the statements meet, K[k,i] and the row of K[i,j] below it meet nine times as often as independence says.
  const std::vector<Occurrence> occurred = occurrences(made.problem.network, made.problem.operands);
  REQUIRE(occurred.size() == 3);
  const JoinSet ends = JoinSet{1} << occurred[0].first_bit | occurred[2].all();
  made.problem.options.joins[ends | occurred[0].all()] = 9;
  CHECK(steps(false) == alone);
  CHECK(steps(true) > 2 * alone);
}

TEST_CASE("what statements before and behind filter outside lasts for all loops below") {
  const OwnedProblem made = problem("K:ij:ss:600 L:jk:ss:600 M:ik:ss:600 -> ", {{'i', 200}, {'j', 200}, {'k', 200}});
  const std::string first = "  x[i,k] += K[i,j] * L[j,k]   loops i,k,j\n";
  const std::string second = "  R[] += x[i,k] * M[i,k]   loops i,k   fused ";
  const std::string begin =
      "schedule\n  tree ((K * L) * M)\n  layout K ss:0,1 f64\n  layout L ss:1,0 f64 converted\n  layout M ss:0,1 f64\n"
      "  intermediate x[i,k] dd f64\n  result R f64\n";
  for (const std::string depth : {"1", "2"}) {
    const Schedule schedule = schedule_of(made, begin + first + second + depth + "\n  parallel i serial\n");
    const std::vector<Occurrence> occurred = occurrences(made.network, made.operands);
    REQUIRE(occurred.size() == 3);
    const auto bit = [&](std::size_t access, std::size_t mode) { return JoinSet{1} << (occurred[access].first_bit + mode); };
    const CostModel model(schedule, made, std::vector<bool>(schedule.tensors.size(), false));
    const JoinSet met = bit(2, 0) | (depth == "2" ? bit(2, 1) : 0);
    CHECK(model.others(schedule, {0, 0}) == met);
    CHECK(model.others(schedule, {1, 1}) == (bit(0, 0) | (depth == "2" ? bit(1, 1) : 0)));
    if (depth == "1") continue;
    // The rows of K are walked for the pairs that M has as well: ten times as long as in the mean.
    PlanOptions counted = made.options;
    const JoinSet outside = bit(0, 0) | bit(1, 1) | met;
    counted.joins[outside | bit(0, 1)] = 10;
    counted.joins[outside | bit(1, 0)] = 10;
    const auto walked = [&](const PlanOptions& options) { return cost(schedule, Problem{made.network, made.operands, options}).loops[2]; };
    CHECK(walked(made.options).index == "j");
    CHECK(walked(counted).steps > 5 * walked(made.options).steps);
  }
}

TEST_CASE("a short fiber drives and a long one is looked up, equal ones are merged") {
  const Made uneven(problem("A:ij:ss:20 B:ij:ss:20000 -> ", {{'i', 10}, {'j', 4000}}), flat_tree(2));
  const LoopEstimate searched = uneven.model().loop(1, 1, first_only);
  REQUIRE(searched.decision.parts.size() == 2);
  CHECK(searched.decision.parts[0].drive);
  CHECK_FALSE(searched.decision.parts[1].drive);
  LoopDecision merge;
  CHECK(uneven.model().loop(1, 1, first_only, &merge).ns > 10 * searched.ns);
  const LoopEstimate given = uneven.model().loop(1, 1, first_only, &searched.decision);
  CHECK(given.ns == searched.ns);
  CHECK(given.steps == searched.steps);

  const Made even(problem("A:ij:ss:400 B:ij:ss:400 C:ij:ss:400 -> ", {{'i', 10}, {'j', 40}}), flat_tree(3));
  CHECK(even.model().loop(1, 1, first_only).decision.parts.empty());
}

TEST_CASE("a vector loop over adjacent elements beats a strided one") {
  const Made made(problem("T:ij:ss:400 B:jr C:rj -> ir", {{'i', 20}, {'j', 2000}, {'r', 64}}), flat_tree(3));
  const Made smooth(problem("T:ij:ss:400 B:jr C:jr -> ir", {{'i', 20}, {'j', 2000}, {'r', 64}}), flat_tree(3));
  const LoopEstimate strided = made.model().loop(3, 2, first_only);
  const LoopEstimate adjacent = smooth.model().loop(3, 2, first_only);
  CHECK(strided.decision.vector);
  CHECK(adjacent.decision.vector);
  CHECK(strided.ns > 2 * adjacent.ns);
}

TEST_CASE("strict floating point has no vector loop over a sum") {
  OwnedProblem dot = problem("a:i b:i -> ", {{'i', 100}});
  CHECK(Made(dot, flat_tree(2)).model().loop(0, 0, first_only).decision.vector);
  dot.options.strict_fp = true;
  const Made strict(dot, flat_tree(2));
  CHECK_FALSE(strict.model().loop(0, 0, first_only).decision.vector);
}

TEST_CASE("larger tables cost more per gathered row") {
  const auto gather = [](std::uint64_t rows) {
    const Made made(problem("T:ij:ss:40 B:jr -> ir", {{'i', 2}, {'j', rows}, {'r', 32}}), flat_tree(2));
    const LoopEstimate loop = made.model().loop(1, 1, first_only);
    return loop.ns / loop.iterations;
  };
  CHECK(gather(100) < gather(2000));
  CHECK(gather(2000) < gather(100'000));
  CHECK(gather(100'000) < gather(1'000'000));
}

TEST_CASE("rows of a result that are a large power of two apart meet in few sets of the first cache") {
  // R[i,r,s,t] below loops over i, s and j: a block of `rank` rows that is read and written for each j.
  const auto per_row = [](std::uint64_t rank) {
    const Made made(problem("T:ij:ss:4000 B:jr C:js D:jt -> irst", {{'i', 20}, {'j', 200}, {'r', rank}, {'s', rank}, {'t', rank}}),
                    flat_tree(4));
    const LoopEstimate rows = made.model().loop(1 | 2 | 8, 2, first_only);
    return rows.ns / rows.iterations;
  };
  CHECK(per_row(24) == doctest::Approx(per_row(40)).epsilon(0.05));
  CHECK(per_row(32) > 1.5 * per_row(40));
}

TEST_CASE("sharing loops shrinks an intermediate") {
  const ContractionTree tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  const Made made(problem("T:ijk:sss:9000 B:jr C:kr -> ir", {{'i', 100}, {'j', 100}, {'k', 100}, {'r', 32}}), tree);
  const CostModel model = made.model();
  CHECK(model.crossing(0, {0, 0}, 1) > model.crossing(1, {0, 0}, 1));
  CHECK(model.crossing(1, {0, 0}, 1) > model.crossing(3, {0, 0}, 1));
  CHECK(model.crossing(3, {0, 1}, 1) == 0);  // not cut
}

TEST_CASE("an intermediate beyond the memory limit is out of the question") {
  const ContractionTree tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  Made made(problem("T:ijk:sss:9000 B:jr C:kr -> ir", {{'i', 100}, {'j', 100}, {'k', 100}, {'r', 32}}), tree);
  made.problem.options.memory_limit = 100 * 100 * 32 * 8 - 1;
  CHECK_FALSE(made.model().may_cross(0, {0, 0}, 1));
  CHECK(made.model().may_cross(3, {0, 0}, 1));
}

TEST_CASE("root loops: owner, private copies, serial") {
  const Made made(problem("T:ij:ss:100000 x:j -> i", {{'i', 1000}, {'j', 1000}}), flat_tree(2));
  const CostModel model = made.model();
  CHECK(model.may_own(0, first_only));
  CHECK_FALSE(model.may_own(1, first_only));
  CHECK(model.root(0, first_only, 1000, 1e7).reduction == RootReduction::owner);
  CHECK(model.root(0, first_only, 1000, 1e7).ns < 2e6);
  CHECK(model.root(1, first_only, 1000, 1e7).reduction == RootReduction::private_copies);
  CHECK(model.root(0, first_only, 1000, 1000).reduction == RootReduction::serial);  // too little to share
  CHECK(model.root(0, first_only, 2, 1e7).ns > 4e6);                                // two coordinates, two threads
  const RootReduction serial = RootReduction::serial;
  CHECK(model.root(0, first_only, 1000, 1e7, &serial).ns > 1e7);
  Made strict = made;
  strict.problem.options.strict_fp = true;
  CHECK(strict.model().root(1, first_only, 1000, 1e7).reduction == RootReduction::serial);
}

TEST_CASE("what every statement of a nest reads filters its shared loops") {
  const ContractionTree tree = *parse_tree("((A * B) * D)", {"A", "B", "D"});
  const Made made(problem("A:ij:ss:100 B:ij:ss:100 D:i:s:2 -> i", {{'i', 20}, {'j', 20}}), tree);
  const CostModel model = made.model();
  CHECK(model.loop(0, 0, {0, 1}).iterations == doctest::Approx(model.loop(0, 0, {0, 0}).iterations * 0.1));
}

TEST_CASE("a sparse intermediate is walked as often as what it is made from was counted to meet") {
  const OwnedProblem made = problem("K:ij:ss:200 L:jk:ss:200 M:ik:ss:6000 -> ik", {{'i', 200}, {'j', 200}, {'k', 200}});
  const Schedule schedule = schedule_of(
      made,
      "schedule\n  tree ((K * L) * M)\n  layout K ss:0,1 f64\n  layout L ss:0,1 f64\n  layout M ss:0,1 f64\n"
      "  intermediate x[i,k] da:0,1 f64\n  result R ss:0,1 f64\n  x[i,k] += K[i,j] * L[j,k]   loops i,j,k\n"
      "  R[i,k] += x[i,k] * M[i,k]   loops i,k   fused 1\n    meet k: drive x@2.1, search M@2.2\n  parallel i serial\n");
  CHECK(check(schedule, made));
  const std::vector<Occurrence> occurred = occurrences(made.network, made.operands);
  REQUIRE(occurred.size() == 3);
  PlanOptions counted = made.options;
  counted.joins[occurred[0].all() | occurred[1].all() | JoinSet{1} << occurred[2].first_bit] = 20;
  const auto walked = [&](const PlanOptions& options) { return cost(schedule, Problem{made.network, made.operands, options}).loops.back(); };
  CHECK(walked(made.options).index == "k");
  CHECK(walked(counted).steps > 5 * walked(made.options).steps);
}

TEST_CASE("a workspace takes in what its writer's operands were counted to have in common") {
  OwnedProblem made = problem("K:ij:ss:2000 L:jk:ss:2000 M:ik:ss:6000 -> ", {{'i', 200}, {'j', 200}, {'k', 2000}});
  const Schedule schedule = schedule_of(
      made,
      "schedule\n  tree ((K * L) * M)\n  layout K ss:0,1 f64\n  layout L ss:0,1 f64\n  layout M ss:0,1 f64\n"
      "  intermediate x[i,k] da:0,1 f64\n  result R f64\n  x[i,k] += K[i,j] * L[j,k]   loops i,j,k\n"
      "  R[] += x[i,k] * M[i,k]   loops i,k   fused 1\n    meet k: search x@2.1, drive M@2.2\n  parallel i serial\n");
  const auto filled_ns = [&] {
    const CostModel model(schedule, made, std::vector<bool>(schedule.tensors.size(), false));
    return model.workspace(0, one_index(0)).ns;
  };
  const double independent = filled_ns();
  const std::vector<Occurrence> occurred = occurrences(made.network, made.operands);
  made.options.joins[occurred[0].all() | occurred[1].all()] = 4;
  CHECK(filled_ns() == doctest::Approx(4 * independent).epsilon(0.15));
}

}  // namespace cost_model_test
