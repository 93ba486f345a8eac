// Which fingers are kept above loops further out: those at sums of digits in the order of these.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "engine/plan/schedule/schedule.h"
#include "lowered_case.h"

namespace kept_fingers_test {

using namespace weft;
using namespace weft::test;

namespace {

std::string program(const Case& given, const std::function<void(TensorDeclaration&)>& located, const std::string& x_layout,
                    const std::string& loops, const std::string& levels, Specialization grade) {
  Network network = network_of(given);
  located(*std::ranges::find(network.tensors, "x", &TensorDeclaration::name));
  REQUIRE(check(network));
  const auto schedule = parse_schedule(
      fmt::format("schedule\n  tree (A * x)\n  layout A {}:0,1,2,3 f64\n  layout x {} f64\n  result y dd:0,1 f64\n"
                  "  y[i,r] += A[i,j,r,c] * x[{}]   loops {}\n",
                  levels, x_layout, x_layout.starts_with("dsd") ? "j,c,c" : "j,c", loops),
      network);
  REQUIRE_MESSAGE(schedule, (schedule ? "" : schedule.error().message));
  LoweringFacts facts;
  facts.grade = grade;
  const auto nests = lower(*schedule, network, std::vector<bool>(schedule->tensors.size(), true), facts);
  REQUIRE_MESSAGE(nests, (nests ? "" : nests.error().message));
  return loop::print(nests->front().program);
}

/// The first program of y(i,r) = A(i,j,r,c) * x(4*j+c), of 3 x 5 blocks, whose `loops` and `levels` of A are told.
std::string program(const std::string& loops, const std::string& levels, Specialization grade = Specialization::profiled) {
  const auto at_sum = [](TensorDeclaration& x) {
    x.extents = {1, 18};
    x.parts = {{5}, {}};
    x.sums = {{}, {.factor = 1, .others = {{0, 4}}, .within = true}};
  };
  return program({{{'i', 3}, {'j', 5}, {'r', 2}, {'c', 4}}, "y ir", {"A ijrc", "x jc"}, ""}, at_sum, "ds:0,1", loops, levels, grade);
}

/// The same where x lies in blocks of 3 whose starts rise or fall: x(b, 4*j+c-b), b = cover(4*j+c, 3).
std::string program_of_blocks(bool falling) {
  const auto at_start = [&](TensorDeclaration& x) {
    x.extents = {1, 18, 3};
    x.parts = {{5}, {}, {}};
    x.sums = {{},
              {.factor = 1, .others = {{0, 4}}, .within = true, .cover = 3},
              {.factor = 1, .others = {{0, 4}, {1, -1}}, .within = true}};
    x.falling = falling ? 2 : 0;
  };
  return program({{{'i', 3}, {'j', 5}, {'r', 2}, {'c', 4}}, "y ir", {"A ijrc", "x jcc"}, ""}, at_start, "dsd:0,1,2", "i,j,c,r", "dsdd",
                 Specialization::profiled);
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

TEST_CASE("starts that fall are searched, whatever loops are around") {
  const std::string rising = program_of_blocks(false), falling = program_of_blocks(true);
  CAPTURE(rising);
  CAPTURE(falling);
  CHECK(has(rising, "locate x(gallop j)"));
  CHECK(!has(falling, "gallop"));
  CHECK(has(falling, "for c: locate x"));
}

}  // namespace kept_fingers_test
