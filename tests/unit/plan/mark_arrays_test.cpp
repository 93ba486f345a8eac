#include "engine/plan/space/contraction_variants.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "engine/plan/cost/alternative_models.h"
#include "engine/plan/estimate/joins.h"
#include "engine/plan/explain/explanation.h"
#include "engine/plan/schedule/schedule_text.h"
#include "unit/plan/networks.h"
#include "unit/replaced.h"

namespace weft::plan_test::mark_arrays_test {
namespace {

OwnedProblem masked(std::uint64_t mask_entries) {
  OwnedProblem made = problem("M:ij:ds:" + std::to_string(mask_entries) + " B:ik:ds:1000000 C:kj:ds:1000000 -> ij",
                         {{'i', 100'000}, {'j', 100'000}, {'k', 100'000}});
  for (OperandFacts& operand : made.operands) operand.pinned = true;
  made.options.result_formats["R"] = *parse_format("ds");
  return made;
}

OwnedProblem triangles() {
  return problem("A:ij:ss:1000000 B:jk:ss:1000000 C:ik:ss:1000000 -> ", {{'i', 100'000}, {'j', 100'000}, {'k', 100'000}});
}

std::size_t copies(const Schedule& schedule) {
  std::size_t found = 0;
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) found += is_mark_array_copy(schedule, number);
  return found;
}

Contractions whole_product(const OwnedProblem& given) {
  return contractions_of(given.network, *parse_tree("(M * B * C)", factor_names(given.network)), {3}, given.operands, given.options);
}

const std::string by_hand =
    "schedule\n"
    "  tree (M * B * C)\n"
    "  layout M ds:0,1 f64\n"
    "  layout B ds:0,1 f64\n"
    "  layout C ds:0,1 f64\n"
    "  intermediate m[i,j] da:0,1 f64\n"
    "  result R ds:0,1 f64\n"
    "  m[i,j] += M[i,j]   loops i,j\n"
    "  R[i,j] += m[i,j] * B[i,k] * C[k,j]   loops i,k,j   fused 1   drained accumulator\n"
    "    meet j: search m@2.1, drive C@2.3\n"
    "  parallel i owner\n";

}  // namespace

TEST_CASE("the row of a mask is marked once, and every product looks its column up") {
  const OwnedProblem given = masked(5'000'000);
  const Plan found = planned(given);
  REQUIRE(copies(found.schedule) == 1);
  CHECK(found.optimal == Optimal::all);  // nothing without copies takes less
  CHECK(found.proof.find("copies for lookups") != std::string::npos);
  const ScheduledStatement& product = found.schedule.statements.back();
  REQUIRE(product.intersections.size() == 1);
  const std::uint32_t looked_up = found.schedule.statements.front().target.tensor;
  CHECK(std::ranges::count_if(product.intersections.front().parts, [&](const Intersection::Part& part) {
          return !part.drive && product.factors[part.factor].tensor == looked_up;
        }) == 1);
  CHECK(explain(found, given).find("a fiber of M over j, copied to be looked up") !=
        std::string::npos);
}

TEST_CASE("triangles look a row up below the other one, with a dense result") {
  const Plan found = planned(triangles());
  CHECK(copies(found.schedule) == 1);
}

TEST_CASE("beside a copy some operands are converted and others are not") {
  OwnedProblem given = problem("A:ij:ss:1000000 B:jk:ss:1000000 C:ki:ss:1000000 -> ", {{'i', 100'000}, {'j', 100'000}, {'k', 100'000}});
  given.options.calls = 1000;
  const Schedule found = planned(given).schedule;
  REQUIRE(copies(found) == 1);
  CHECK(std::ranges::count(found.tensors, true, &ScheduledTensor::converted) == 2);
}

// A dense level of K lets everything through: what K has there is no filter of the loop, also if a copy of its fibers is read below.
TEST_CASE("loops around a copy are filtered as the levels of the operand say") {
  OwnedProblem given = problem("K:ubv:dss:4000 L:uv:ss:400 -> ", {{'u', 1000}, {'b', 10}, {'v', 1000}});
  const Schedule schedule = schedule_of(
      given,
      "schedule\n  tree (K * L)\n  layout K dss:0,1,2 f64\n  layout L ss:0,1 f64\n  intermediate k[u,b,v] dda:0,1,2 f64\n  result R f64\n"
      "  k[u,b,v] += K[u,b,v]   loops u,b,v\n  R[] += k[u,b,v] * L[u,v]   loops u,b,v   fused 2\n    meet v: search k@2.1, drive L@2.2\n"
      "  parallel u serial\n");
  REQUIRE(defect(given, print(schedule, given.network)) == "");
  const std::vector<Occurrence> occurred = occurrences(given.network, given.operands);
  REQUIRE(occurred.size() == 2);
  const JoinSet rows = JoinSet{1} << occurred[0].first_bit | JoinSet{1} << occurred[1].first_bit;
  const JoinSet fibers = rows | JoinSet{2} << occurred[0].first_bit;
  given.options.joins[rows] = 1.5;
  given.options.joins[fibers] = 2;
  const double of_k = given.operands[0].statistics.distinct(0b011);
  const double of_l = given.operands[1].statistics.distinct(0b01);
  const LoopCost loop = cost(schedule, given).loops[1];
  CHECK(loop.index == "b");
  CHECK(loop.iterations == doctest::Approx(of_k * of_l / 1000 * 2));
}

TEST_CASE("what takes a moment is not looked at, and neither is what has nothing to look up") {
  CHECK(copies(planned(problem("A:ij:ss:30 B:jk:ss:30 C:ik:ss:30 -> ", {{'i', 10}, {'j', 10}, {'k', 10}})).schedule) == 0);
  CHECK(copies(planned(problem("A:ij:ss:1000000 B:jr -> ir", {{'i', 100'000}, {'j', 100'000}, {'r', 32}})).schedule) == 0);
}

TEST_CASE("a schedule with a copy is legal, read and judged as any other") {
  const OwnedProblem given = masked(5'000'000);
  CHECK(defect(given, by_hand) == "");
  const Schedule schedule = schedule_of(given, by_hand);
  CHECK(is_mark_array_copy(schedule, 0));
  CHECK(!is_mark_array_copy(schedule, 1));
  CHECK(print(schedule, given.network) == by_hand);
  const Schedule searched = schedule_of(given,
                                        "schedule\n"
                                        "  tree (M * B * C)\n"
                                        "  layout M ds:0,1 f64\n"
                                        "  layout B ds:0,1 f64\n"
                                        "  layout C ds:0,1 f64\n"
                                        "  result R ds:0,1 f64\n"
                                        "  R[i,j] += M[i,j] * B[i,k] * C[k,j]   loops i,k,j   drained accumulator\n"
                                        "    meet j: search M@1.1, drive C@1.3\n"
                                        "  parallel i owner\n");
  CHECK(cost(schedule, given).ns <
        cost(searched, given).ns);
}

TEST_CASE("a copy that is no copy is refused") {
  const OwnedProblem given = masked(1000);
  CHECK(defect(given, test::replaced(by_hand, "intermediate m[i,j] da", "intermediate m[i,j] ds")).find("lives inside a loop nest") !=
        std::string::npos);
  CHECK(defect(given, test::replaced(test::replaced(by_hand, "drive C@2.3", "search C@2.3"), "search m@2.1", "drive m@2.1")) == "");
  CHECK(defect(given, test::replaced(by_hand, "m[i,j] += M[i,j] ", "m[i,j] += 2 * M[i,j] ")).find("coefficients multiply to 2") !=
        std::string::npos);
}

TEST_CASE("copies are of sparse operands that meet others, and stand before their reader") {
  const OwnedProblem given = masked(1000);
  const auto copied = with_mark_array(whole_product(given), 0, 1);
  REQUIRE(copied);
  REQUIRE(copied->steps.size() == 2);
  CHECK(is_mark_array_copy(*copied, 0));
  CHECK(copied->tensors[copied->steps[0].target.tensor].name == "B_row");
  CHECK(copied->steps[1].factors[1].tensor == copied->steps[0].target.tensor);
  CHECK(copied->tensors[copied->steps[1].target.tensor].role == TensorRole::result);
  CHECK(!with_mark_array(*copied, 0, 0));  // a copy is not copied

  OwnedProblem shared = masked(1000);
  shared.options.result_formats.clear();
  shared.options.result_patterns["R"] = "M";
  const Contractions like = contractions_of(shared.network, *parse_tree("(M * B * C)", factor_names(shared.network)), {3},
                                      shared.operands, shared.options);
  CHECK(!with_mark_array(like, 0, 0));  // its positions are those of the result
  CHECK(with_mark_array(like, 0, 2));

  const OwnedProblem dense = problem("M:ij:ss:100 B:jr D:s:s:3 -> irs", {{'i', 100}, {'j', 100}, {'r', 8}, {'s', 9}});
  const Contractions alone = contractions_of(dense.network, *parse_tree("(M * B * D)", factor_names(dense.network)), {3},
                                       dense.operands, dense.options);
  for (std::size_t factor = 0; factor < 3; ++factor) CHECK(!with_mark_array(alone, 0, factor));
}

TEST_CASE("a copy of an operand and a sum over its own modes are steps of different numbers, and so are their readers") {
  OwnedProblem given = problem("A:i:s:50 T:ijlk:ssss:1000 -> ijl", {{'i', 1000}, {'j', 1000}, {'l', 1000}, {'k', 100}});
  given.options.result_formats["R"] = *parse_format("sss");
  const Contractions plain =
      contractions_of(given.network, *parse_tree("(A * T)", factor_names(given.network)), {2}, given.operands, given.options);
  const std::optional<Contractions> copied = with_mark_array(plain, 0, 1);
  REQUIRE(copied);
  AlternativeModels models(given);
  const PricedOrder copy = models.order_of(*copied);
  std::size_t sums = 0;
  for (const Contractions& variant : contraction_variants(plain, given, false)) {
    if (variant.steps.size() != 2 || variant.tensors[variant.steps.front().target.tensor].storage != Storage::of_loops) continue;
    const PricedOrder sum = models.order_of(variant);
    if (sum.contents.front().second != copy.contents.front().second) continue;  // A has no modes of its own: it is T that is summed
    ++sums;
    CHECK(sum.contents.front().first != copy.contents.front().first);
    CHECK(sum.contents.back().first != copy.contents.back().first);
  }
  CHECK(sums > 0);
}

TEST_CASE("names of copies are free") {
  const OwnedProblem given = problem("B:ik:ss:1000 B_row:kj:ss:1000 -> ij", {{'i', 100}, {'j', 100}, {'k', 100}});
  const ContractionTree tree = *parse_tree("(B * B_row)", factor_names(given.network));
  const auto copied = with_mark_array(contractions_of(given.network, tree, {2}, given.operands, given.options), 0, 0);
  REQUIRE(copied);
  CHECK(copied->tensors[copied->steps[0].target.tensor].name == "B_row2");
}

}  // namespace weft::plan_test::mark_arrays_test
