// Which fingers are kept above loops further out: those at sums of digits in the order of these.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/schedule/schedule.h"
#include "lowered_case.h"

namespace kept_fingers_test {

using namespace weft;
using namespace weft::test;

namespace {

/// The first program of y(i,r) = A(i,j,r,c) * x(4*j+c), of 3 x 5 blocks, whose `loops` and `levels` of A are told.
std::string program(const std::string& loops, const std::string& levels, Specialization grade = Specialization::profiled) {
  const Case given{{{'i', 3}, {'j', 5}, {'r', 2}, {'c', 4}}, "y ir", {"A ijrc", "x jc"}, ""};
  Network network = network_of(given);
  TensorDeclaration& x = *std::ranges::find(network.tensors, "x", &TensorDeclaration::name);
  x.extents = {1, 18};
  x.parts = {{5}, {}};
  x.sums = {{}, {.factor = 1, .others = {{0, 4}}, .within = true}};
  REQUIRE(check(network));
  const auto schedule = parse_schedule(
      fmt::format("schedule\n  tree (A * x)\n  layout A {}:0,1,2,3 f64\n  layout x ds:0,1 f64\n  result y dd:0,1 f64\n"
                  "  y[i,r] += A[i,j,r,c] * x[j,c]   loops {}\n",
                  levels, loops),
      network);
  REQUIRE_MESSAGE(schedule, (schedule ? "" : schedule.error().message));
  LoweringFacts facts;
  facts.grade = grade;
  const auto nests = lower(*schedule, network, std::vector<bool>(schedule->tensors.size(), true), facts);
  REQUIRE_MESSAGE(nests, (nests ? "" : nests.error().message));
  return loop::print(nests->front().program);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a finger at a sum of digits is kept over all of these that lie inside each other") {
  const std::string kept = program("i,j,c,r", "dsdd");
  CAPTURE(kept);
  CHECK(has(kept, "for c: locate x(gallop j)"));
  CHECK(has(kept, "fact   extent(j) = 5"));  // the level of one place above
  CHECK(has(kept, "fact   extent(c) = 4"));
  CHECK(has(program("i,j,c,r", "dsds"), "for c: locate x(gallop j)"));
}

TEST_CASE("a finger is not kept where the sum falls, nor by code for any size") {
  CHECK(!has(program("i,j,r,c", "dsdd"), "gallop"));  // r in between
  CHECK(!has(program("i,c,r,j", "dddd"), "gallop"));  // the last digit first
  CHECK(!has(program("i,j,c,r", "dsdd", Specialization::generic), "gallop j"));
}

}  // namespace kept_fingers_test
