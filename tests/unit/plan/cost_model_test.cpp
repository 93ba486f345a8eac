#include "engine/plan/cost/cost_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

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

TEST_CASE("iterations are those that random entries take") {
  constexpr std::size_t extent = 20, times = 200;
  const Made made(problem("A:ij:ss:100 B:jk:ss:200 -> ", {{'i', extent}, {'j', extent}, {'k', extent}}), flat_tree(2));
  const CostModel model = made.model();
  std::mt19937 random(5);
  const auto drawn = [&](std::size_t entries) {
    std::vector<bool> matrix(extent * extent, false);
    std::fill(matrix.begin(), matrix.begin() + static_cast<std::ptrdiff_t>(entries), true);
    std::shuffle(matrix.begin(), matrix.end(), random);
    return matrix;
  };
  double pairs = 0, triples = 0;
  for (std::size_t time = 0; time < times; ++time) {
    const std::vector<bool> a = drawn(100), b = drawn(200);
    for (std::size_t place = 0; place < a.size(); ++place) {
      if (!a[place]) continue;
      const auto row = b.begin() + static_cast<std::ptrdiff_t>(place % extent * extent);
      const auto met = static_cast<double>(std::count(row, row + extent, true));
      pairs += met > 0 ? 1.0 / times : 0;
      triples += met / times;
    }
  }
  CHECK(model.iterations(0, first_only) == 1);
  CHECK(model.iterations(0b111, first_only) == doctest::Approx(triples).epsilon(0.02));
  const LoopEstimate innermost = model.loop(0b011, 2, first_only);
  CHECK(innermost.iterations == doctest::Approx(triples / pairs).epsilon(0.02));
  CHECK(innermost.flops == 2 * innermost.iterations);  // a product and a sum
  CHECK_FALSE(innermost.decision.vector);
}

TEST_CASE("twice the extent of a dense loop is twice its iterations and flops, and takes longer") {
  const auto rows = [](std::uint64_t extent) {
    const Made made(problem("T:ij:ss:400 B:jr -> ir", {{'i', 20}, {'j', 2000}, {'r', extent}}), flat_tree(2));
    return made.model().loop(0b011, 2, first_only);
  };
  for (const std::uint64_t extent : {1, 7, 32, 1000}) {
    CAPTURE(extent);
    CHECK(rows(2 * extent).iterations == 2 * rows(extent).iterations);
    CHECK(rows(2 * extent).flops == 2 * rows(extent).flops);
    CHECK(rows(2 * extent).ns > rows(extent).ns);
  }
}

TEST_CASE("more entries are never cheaper") {
  double before = 0;
  for (const int entries : {0, 1, 10, 100, 1000, 10'000, 100'000, 1'000'000}) {
    CAPTURE(entries);
    const OwnedProblem made = problem("T:ijk:sss:" + std::to_string(entries) + " B:jr C:kr -> ir",
                                      {{'i', 100}, {'j', 100}, {'k', 100}, {'r', 16}});
    const Schedule schedule =
        schedule_of(made,
                    "schedule\n  tree (T * B * C)\n  layout T sss:0,1,2 f64\n  layout B dd:0,1 f64\n  layout C dd:0,1 f64\n"
                    "  result R dd f64\n  R[i,r] += T[i,j,k] * B[j,r] * C[k,r]   loops i,j,k,r   vector r\n  parallel i owner\n");
    const double ns = cost(schedule, made).ns;
    CHECK(ns >= before);
    before = ns;
  }
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
  // Whatever the statements meet, K[k,i] and the row of K[i,j] below it meet more often than independence says.
  const std::vector<Occurrence> occurred = occurrences(made.problem.network, made.problem.operands);
  REQUIRE(occurred.size() == 3);
  const JoinSet ends = JoinSet{1} << occurred[0].first_bit | occurred[2].all();
  double before = alone;
  for (const double ratio : {2.0, 4.0, 9.0}) {
    CAPTURE(ratio);
    made.problem.options.joins[ends | occurred[0].all()] = ratio;
    CHECK(steps(false) == alone);
    CHECK(steps(true) > before);
    CHECK(steps(true) <= ratio * alone);
    before = steps(true);
  }
}

TEST_CASE("several factors of one tensor at the same indices let through what one does") {
  const OwnedProblem made = problem("A:ij:ss:600 A:ij:ss:600 x:j -> i", {{'i', 200}, {'j', 200}});
  const Schedule schedule = schedule_of(made, "schedule\n  tree (A * A * x)\n  layout A ss:0,1 f64\n  layout x d:0 f64\n"
                                              "  result R d:0 f64\n  R[i] += A[i,j] * A[i,j] * x[j]   loops i,j\n  parallel i serial\n");
  CHECK(CostModel(contractions_of(schedule), made).iterations(0b11, {0, 0}) == doctest::Approx(600));
  CHECK(cost(schedule, made).loops.back().iterations == doctest::Approx(600).epsilon(0.01));
}

TEST_CASE("joins of one tensor at other indices are counted against independence") {
  // K(i,j) * K(i,k): what the first lets through at i is part of the join, whose size is told.
  OwnedProblem made = problem("K:ij:ss:600 K:ik:ss:600 -> ", {{'i', 200}, {'j', 200}, {'k', 200}});
  const Schedule schedule = schedule_of(made, "schedule\n  tree (K * K)\n  layout K ss:0,1 f64\n  result R f64\n"
                                              "  R[] += K[i,j] * K[i,k]   loops i,j,k\n  parallel i serial\n");
  const std::vector<Occurrence> occurred = occurrences(made.network, made.operands);
  REQUIRE(occurred.size() == 2);
  const double independent = CostModel(contractions_of(schedule), made).iterations(0b111, {0, 0});
  CHECK(independent == doctest::Approx(600.0 * 600 / 200));
  made.options.joins[occurred[0].all() | occurred[1].all()] = 1.25;
  CHECK(CostModel(contractions_of(schedule), made).iterations(0b111, {0, 0}) == doctest::Approx(1.25 * independent));
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
    const CostModel model(contractions_of(schedule), made);
    const JoinSet met = bit(2, 0) | (depth == "2" ? bit(2, 1) : 0);
    CHECK(model.others(schedule, {0, 0}) == met);
    CHECK(model.others(schedule, {1, 1}) == (bit(0, 0) | (depth == "2" ? bit(1, 1) : 0)));
    if (depth == "1") continue;
    // The rows of K are walked for the pairs that M has as well: so many times as long as in the mean.
    const JoinSet outside = bit(0, 0) | bit(1, 1) | met;
    const auto walked = [&](double ratio) {
      PlanOptions counted = made.options;
      counted.joins[outside | bit(0, 1)] = ratio;
      counted.joins[outside | bit(1, 0)] = ratio;
      return cost(schedule, Problem{made.network, made.operands, counted}).loops[2];
    };
    CHECK(walked(1).index == "j");
    CHECK(walked(3).steps > walked(1).steps);
    CHECK(walked(10).steps > walked(3).steps);
  }
}

TEST_CASE("a short fiber drives and a long one is looked up, equal ones are merged") {
  const Made uneven(problem("A:ij:ss:20 B:ij:ss:20000 -> ", {{'i', 10}, {'j', 4000}}), flat_tree(2));
  const LoopEstimate searched = uneven.model().loop(1, 1, first_only);
  REQUIRE(searched.decision.parts.size() == 2);
  CHECK(searched.decision.parts[0].drive);
  CHECK_FALSE(searched.decision.parts[1].drive);
  LoopDecision merge;
  CHECK(uneven.model().loop(1, 1, first_only, &merge).ns > searched.ns);
  CHECK(uneven.model().loop(1, 1, first_only, &merge).steps > searched.steps);
  const LoopEstimate given = uneven.model().loop(1, 1, first_only, &searched.decision);
  CHECK(given.ns == searched.ns);
  CHECK(given.steps == searched.steps);

  // Where a lookup takes more than a few steps of two fingers.
  OwnedProblem slow = problem("A:ij:ss:400 B:ij:ss:400 C:ij:ss:400 -> ", {{'i', 10}, {'j', 40}});
  slow.options.machine.search_base = slow.options.machine.gallop_base = 4 * slow.options.machine.merge_step;
  const Made even(slow, flat_tree(3));
  CHECK(even.model().loop(1, 1, first_only).decision.parts.empty());
}

TEST_CASE("a vector loop over adjacent elements beats a strided one") {
  const Made made(problem("T:ij:ss:400 B:jr C:rj -> ir", {{'i', 20}, {'j', 2000}, {'r', 64}}), flat_tree(3));
  const Made smooth(problem("T:ij:ss:400 B:jr C:jr -> ir", {{'i', 20}, {'j', 2000}, {'r', 64}}), flat_tree(3));
  const LoopEstimate strided = made.model().loop(3, 2, first_only);
  const LoopEstimate adjacent = smooth.model().loop(3, 2, first_only);
  CHECK(strided.decision.vector);
  CHECK(adjacent.decision.vector);
  CHECK(strided.iterations == adjacent.iterations);
  CHECK(strided.ns > adjacent.ns);
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
  // Whose rows are shorter.
  CHECK(per_row(32) > per_row(40));
  CHECK(per_row(64) > per_row(72));
}

TEST_CASE("sharing loops shrinks an intermediate") {
  const ContractionTree tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  const Made made(problem("T:ijk:sss:9000 B:jr C:kr -> ir", {{'i', 100}, {'j', 100}, {'k', 100}, {'r', 32}}), tree);
  const CostModel model = made.model();
  CHECK(model.materialising_ns(0, {0, 0}, 1) > model.materialising_ns(1, {0, 0}, 1));
  CHECK(model.materialising_ns(1, {0, 0}, 1) > model.materialising_ns(3, {0, 0}, 1));
  CHECK(model.materialising_ns(3, {0, 1}, 1) == 0);  // not cut
}

TEST_CASE("an intermediate beyond the memory budget is out of the question") {
  const ContractionTree tree = *parse_tree("((T * C) * B)", {"T", "B", "C"});
  OwnedProblem made = problem("T:ijk B:jr C:kr -> ir", {{'i', 100}, {'j', 100}, {'k', 10}, {'r', 32}});
  made.options.tree = tree;
  CHECK(plan_unfused(made).has_value());
  made.options.memory_limit = 100 * 100 * 32 * 8 - 1;  // less than x[i,j,r]
  const Made limited(made, tree);
  CHECK_FALSE(limited.model().may_materialise(0, {0, 0}, 1));
  CHECK(limited.model().may_materialise(3, {0, 0}, 1));
  const auto unfused = plan_unfused(made);
  REQUIRE_FALSE(unfused.has_value());
  CHECK(unfused.error().kind == ErrorKind::resource);
  const Plan fused = planned(made);
  CHECK(fused.schedule.statements[1].fused > 0);
  CHECK(fused.cost.announced_bytes <= made.options.memory_limit);
}

TEST_CASE("root loops: owner, private copies, serial") {
  const Made made(problem("T:ij:ss:100000 x:j -> i", {{'i', 1000}, {'j', 1000}}), flat_tree(2));
  const CostModel model = made.model();
  CHECK(model.may_own(0, first_only));
  CHECK_FALSE(model.may_own(1, first_only));
  CHECK(model.root(0, first_only, 1000, 1e7).reduction == RootReduction::owner);
  CHECK(model.root(0, first_only, 1000, 1e7).ns < 1e7);
  CHECK(model.root(0, first_only, 1000, 1e7).ns >= 1e7 / model.threads());
  CHECK(model.root(1, first_only, 1000, 1e7).reduction == RootReduction::private_copies);
  CHECK(model.root(0, first_only, 1000, 1000).reduction == RootReduction::serial);  // too little to share
  CHECK(model.root(0, first_only, 2, 1e7).ns >= 1e7 / 2);                           // two coordinates, two threads
  const RootReduction serial = RootReduction::serial;
  CHECK(model.root(0, first_only, 1000, 1e7, &serial).ns >= 1e7);
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
  const auto walked = [&](double ratio) {
    PlanOptions counted = made.options;
    counted.joins[occurred[0].all() | occurred[1].all() | JoinSet{1} << occurred[2].first_bit] = ratio;
    return cost(schedule, Problem{made.network, made.operands, counted}).loops.back();
  };
  CHECK(walked(1).index == "k");
  CHECK(walked(4).steps > walked(1).steps);
  CHECK(walked(20).steps > walked(4).steps);
  CHECK(walked(20).steps <= 20 * walked(1).steps);
}

// Ten in each row of K and L, where independence expects half a one: no row has more than one if the count is made up for by the rows
// alone, of which there are 200 at most.
TEST_CASE("a stored intermediate has as many entries in each fiber as its operands were counted to meet there") {
  const OwnedProblem made = problem("K:ij:ss:2000 L:ij:ss:2000 M:is:dd -> sij", {{'i', 200}, {'j', 200}, {'s', 3}});
  const Schedule schedule = schedule_of(
      made,
      "schedule\n  tree ((K * L) * M)\n  layout K ss:0,1 f64\n  layout L ss:0,1 f64\n  layout M dd:0,1 f64\n"
      "  intermediate x[i,j] ss:0,1 f64\n  result R sss:0,1,2 f64\n  x[i,j] += K[i,j] * L[i,j]   loops i,j\n"
      "    meet j: gallop K@1.1, drive L@1.2\n  R[s,i,j] += x[i,j] * M[i,s]   loops s,i,j\n  parallel i serial\n  parallel s serial\n");
  CHECK(check(schedule, made));
  const std::vector<Occurrence> occurred = occurrences(made.network, made.operands);
  REQUIRE(occurred.size() == 2);
  PlanOptions counted = made.options;
  counted.joins[occurred[0].all() | occurred[1].all()] = 20;
  const std::vector<LoopCost> loops = cost(schedule, Problem{made.network, made.operands, counted}).loops;
  REQUIRE(loops.size() == 5);
  CHECK(loops[1].iterations == doctest::Approx(2000).epsilon(0.01));
  CHECK(loops[3].iterations == doctest::Approx(600).epsilon(0.01));
  CHECK(loops[4].iterations == doctest::Approx(6000).epsilon(0.01));
}

TEST_CASE("a workspace takes in what its writer's operands were counted to have in common") {
  OwnedProblem made = problem("K:ij:ss:2000 L:jk:ss:2000 M:ik:ss:6000 -> ", {{'i', 200}, {'j', 200}, {'k', 2000}});
  const Schedule schedule = schedule_of(
      made,
      "schedule\n  tree ((K * L) * M)\n  layout K ss:0,1 f64\n  layout L ss:0,1 f64\n  layout M ss:0,1 f64\n"
      "  intermediate x[i,k] da:0,1 f64\n  result R f64\n  x[i,k] += K[i,j] * L[j,k]   loops i,j,k\n"
      "  R[] += x[i,k] * M[i,k]   loops i,k   fused 1\n    meet k: search x@2.1, drive M@2.2\n  parallel i serial\n");
  const std::vector<Occurrence> occurred = occurrences(made.network, made.operands);
  const auto filled_ns = [&](double ratio) {
    made.options.joins[occurred[0].all() | occurred[1].all()] = ratio;
    const CostModel model(contractions_of(schedule), made);
    return model.workspace(0, one_index(0)).ns;
  };
  CHECK(filled_ns(2) > filled_ns(1));
  CHECK(filled_ns(4) > filled_ns(2));
  CHECK(filled_ns(4) <= 4 * filled_ns(1));
}

}  // namespace cost_model_test
