#include "engine/plan/schedule/binding.h"

#include <doctest/doctest.h>

#include "engine/plan/search/baseline.h"
#include "unit/plan/networks.h"

namespace binding_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("levels are bound in order, late where a loop came too early") {
  const Format format = *parse_format("sss:0,1,2");
  const auto concordant = bind_levels({0, 1, 2}, format, {0, 1, 2});
  for (std::size_t level = 0; level < 3; ++level) {
    CHECK(concordant[level].loop == level);
    CHECK(concordant[level].direct);
  }
  const auto discordant = bind_levels({0, 1, 2}, format, {2, 0, 5, 1});
  CHECK(discordant[0].loop == 1);
  CHECK(discordant[0].direct);
  CHECK(discordant[1].loop == 3);
  CHECK(discordant[1].direct);
  CHECK(discordant[2].loop == 3);
  CHECK_FALSE(discordant[2].direct);
  const auto rotated = bind_levels({0, 1, 2}, *parse_format("sss:2,0,1"), {2, 0, 1});
  CHECK(rotated[0].loop == 0);
  CHECK(rotated[2].loop == 2);
}

TEST_CASE("the second level of a diagonal is late") {
  const auto bound = bind_levels({3, 3}, *parse_format("ss"), {1, 3});
  CHECK(bound[0].loop == 1);
  CHECK(bound[0].direct);
  CHECK(bound[1].loop == 1);
  CHECK_FALSE(bound[1].direct);
}

TEST_CASE("a sum is bound where the last of its indices is, and never drives") {
  // B(j-i+3,i), accessed as B(j,i).
  const LocatedModes located{0b01, 0b01, {0b10, 0}};
  const auto inside = bind_levels({1, 0}, *parse_format("sd"), {0, 1}, located);
  CHECK(inside[0].loop == 1);
  CHECK_FALSE(inside[0].direct);
  CHECK(inside[1].loop == 1);
  const auto outside = bind_levels({1, 0}, *parse_format("sd"), {1, 0}, located);
  CHECK(outside[0].loop == 1);
  CHECK_FALSE(outside[1].direct);
  // B(i,j-i+1)
  const auto band = bind_levels({0, 1}, *parse_format("dd"), {0, 1}, {0b10, 0b10, {0, 0b01}});
  CHECK(band[0].loop == 0);
  CHECK(band[0].direct);
  CHECK(band[1].loop == 1);
  CHECK_FALSE(band[1].direct);
}

TEST_CASE("a level at a part of its index never drives, and its loop is no vector loop") {
  const auto bound = bind_levels({0, 1, 0}, *parse_format("dsd"), {0, 1}, {0b101});
  CHECK(bound[0].loop == 0);
  CHECK_FALSE(bound[0].direct);
  CHECK(bound[1].loop == 1);
  CHECK(bound[1].direct);
  CHECK(bound[2].loop == 1);
  CHECK_FALSE(bound[2].direct);
  OwnedProblem made = problem("B:iji:ddd:64 x:j -> i", {{'i', 4}, {'j', 8}});
  const TensorId tensor = made.operands[0].tensor;
  made.network.tensors[tensor].parts = {{2, 0}, {}, {1, 2}};
  made.network.tensors[tensor].extents = {2, 8, 2};
  CHECK(located_modes(made.network.tensors[tensor]).modes == 0b101);
  Schedule schedule = baseline(made);
  const Assignment& assignment = made.network.assignments[0];
  schedule.statements[0].loops = {assignment.result.indices[0], assignment.terms[0].factors[1].indices[0]};
  CHECK(may_be_vector(schedule, 0, made.options));
  std::swap(schedule.statements[0].loops[0], schedule.statements[0].loops[1]);
  CHECK_FALSE(may_be_vector(schedule, 0, made.options));
}

TEST_CASE("operands that end sparse may be converted unless pinned") {
  OwnedProblem made = problem("A:ij:ss:5 B:ij:ds:5 C:ij:sd:5 D:ij s:- -> ", {{'i', 4}, {'j', 4}});
  CHECK(may_be_converted(made.operands[0]));
  CHECK(may_be_converted(made.operands[1]));
  CHECK_FALSE(may_be_converted(made.operands[2]));
  CHECK_FALSE(may_be_converted(made.operands[3]));
  CHECK_FALSE(may_be_converted(made.operands[4]));
  made.operands[0].pinned = true;
  CHECK_FALSE(may_be_converted(made.operands[0]));
}

TEST_CASE("only an unshared innermost loop without sparse levels becomes vector code") {
  const OwnedProblem made = problem("T:ij:ss:9 B:jr -> ir", {{'i', 4}, {'j', 4}, {'r', 8}});
  Schedule schedule = baseline(made);
  CHECK(may_be_vector(schedule, 0, made.options));
  CHECK(filters(schedule, schedule.statements[0], 0));
  CHECK(filters(schedule, schedule.statements[0], 1));
  CHECK_FALSE(filters(schedule, schedule.statements[0], 2));
  std::swap(schedule.statements[0].loops[1], schedule.statements[0].loops[2]);
  CHECK_FALSE(may_be_vector(schedule, 0, made.options));
}

}  // namespace binding_test
