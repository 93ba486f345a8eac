#include "engine/plan/schedule_text.h"

#include <doctest/doctest.h>

#include "unit/plan/networks.h"

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("a schedule prints as design.md shows it") {
  Problem made = problem("T:ijk:sss:100000 B:jr C:kr -> ir", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 32}});
  const std::string text =
      "schedule\n"
      "  tree ((T * C) * B)\n"
      "  layout T sss:0,1,2 f64\n"
      "  layout C dd:0,1 f64\n"
      "  layout B dd:0,1 f64\n"
      "  intermediate x[i,j,r] ddd:0,1,2 f64\n"
      "  result R dd:0,1 f64\n"
      "  x[i,j,r] += T[i,j,k] * C[k,r]   loops i,j,k,r   vector r\n"
      "  R[i,r] += x[i,j,r] * B[j,r]   loops i,j,r   fused 2   vector r\n"
      "  parallel i owner\n";
  CHECK(print(schedule_of(made, text), made.network) == text);
  CHECK(defect(made, text).empty());
}

TEST_CASE("an operand in two layouts is numbered, widths and strides are kept") {
  const Problem made = problem("K:uv:ss:50 K:vu:ss:50 s:- -> ", {{'u', 9}, {'v', 9}});
  Schedule schedule = baseline(made.network, made.operands, made.options);
  REQUIRE(schedule.tensors.size() == 4);
  CHECK(label(schedule, 0) == "K.1");
  CHECK(label(schedule, 1) == "K.2");
  CHECK(label(schedule, 2) == "s");
  schedule.tensors[0].format.levels[1].pos_bits = 64;
  schedule.tensors[2].format.scalar = Scalar::f32;
  const std::string text = print(schedule, made.network);
  CHECK(text.find("layout K.1 ss:0,1 f64 bits 32/32,64/32\n") != std::string::npos);
  CHECK(text.find("layout K.2 ss:1,0 f64 converted\n") != std::string::npos);
  CHECK(text.find("layout s f32\n") != std::string::npos);
  CHECK(text.find("R[] += K.1[u,v] * K.2[v,u] * s[]   loops u,v\n") != std::string::npos);
  CHECK(schedule_of(made, text) == schedule);
}

TEST_CASE("indices of a statement without loops are written as ()") {
  const Problem made = problem("s:- t:- -> ", {});
  const Schedule schedule = baseline(made.network, made.operands, made.options);
  CHECK(print_indices({}, made.network) == "()");
  CHECK(print(schedule, made.network).find("loops ()\n  parallel () serial\n") != std::string::npos);
  CHECK(schedule_of(made, print(schedule, made.network)) == schedule);
}
