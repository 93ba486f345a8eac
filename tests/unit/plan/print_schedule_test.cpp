#include "engine/plan/schedule/schedule_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/plan/search/baseline.h"
#include "tests/oracle/enumerate.h"
#include "unit/plan/networks.h"
#include "unit/plan/random_networks.h"

namespace print_schedule_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

/// As first_different_lines says, from the whole texts.
std::pair<std::string, std::string> different_lines(const std::string& left, const std::string& right) {
  const std::vector<std::string> left_lines = lines_of(left);
  const std::vector<std::string> right_lines = lines_of(right);
  for (std::size_t line = 0; line < std::max(left_lines.size(), right_lines.size()); ++line) {
    const std::string one = line < left_lines.size() ? left_lines[line] : std::string();
    const std::string other = line < right_lines.size() ? right_lines[line] : std::string();
    if (one != other) return {one, other};
  }
  return {};
}

}  // namespace

TEST_CASE("a schedule prints as design.md shows it") {
  OwnedProblem made = problem("T:ijk:sss:100000 B:jr C:kr -> ir", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 32}});
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
  const OwnedProblem made = problem("K:uv:ss:50 K:vu:ss:50 s:- -> ", {{'u', 9}, {'v', 9}});
  Schedule schedule = baseline(made);
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
  const OwnedProblem made = problem("s:- t:- -> ", {});
  const Schedule schedule = baseline(made);
  CHECK(print_indices({}, made.network) == "()");
  CHECK(print(schedule, made.network).find("loops ()\n  parallel () serial\n") != std::string::npos);
  CHECK(schedule_of(made, print(schedule, made.network)) == schedule);
}

TEST_CASE("the first lines in which two schedules differ are those of their whole texts") {
  std::size_t different = 0;
  std::size_t shorter = 0;
  for (unsigned seed = 1; seed <= scaled(60); ++seed) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed, seed % 3 == 0, seed % 2 == 0);
    const std::vector<Schedule> all = enumerate_schedules(made, 400);
    std::mt19937 random(seed);
    for (int pair = 0; pair < 100 && !all.empty(); ++pair) {
      Schedule left = all[random() % all.size()];
      const Schedule& right = all[random() % all.size()];
      // Two of many mostly differ in their trees or tensors already.
      if (pair % 2 == 0) left = right;
      if (pair % 4 == 0) left.roots.front() = root_reductions[random() % std::size(root_reductions)];
      if (pair % 8 == 0) left.statements.back().vector = std::nullopt;
      if (pair % 10 == 0) left.roots.pop_back();
      const std::string left_text = print(left, made.network);
      const std::string right_text = print(right, made.network);
      CAPTURE(left_text);
      CAPTURE(right_text);
      const auto found = first_different_lines(left, right, made.network);
      CHECK(found == different_lines(left_text, right_text));
      CHECK(first_different_lines(right, left, made.network) == std::pair(found.second, found.first));
      if (found.first != found.second) ++different;
      if (found.first.empty() != found.second.empty()) ++shorter;
    }
  }
  CHECK(different > scaled(60) * 50);
  CHECK(shorter > scaled(60));
}

}  // namespace print_schedule_test
