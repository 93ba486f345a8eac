#include "engine/plan/schedule/check.h"

#include <doctest/doctest.h>

#include "unit/plan/networks.h"
#include "unit/replaced.h"

namespace check_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

const char* const good =
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

OwnedProblem mttkrp() {
  return problem("T:ijk:sss:4000 B:jr C:kr -> ir", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 32}});
}

std::string replaced(const std::string& from, const std::string& to) { return test::replaced(good, from, to); }

}  // namespace

TEST_CASE("check() refuses every seeded defect") {
  REQUIRE(defect(mttkrp(), good).empty());
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"layout T sss:0,1,2 f64", "layout T sss:1,0,2 f64"}, "mark it as converted"},
      {{"layout T sss:0,1,2 f64", "layout T sss:0,1,2 f32"}, "its layout says f32"},
      {{"layout T sss:0,1,2 f64", "layout T ssd:0,1,2 f64 converted"}, "confuse absent entries with zeros"},
      {{"layout B dd:0,1 f64", "layout B ds:0,1 f64 converted"}, "confuse absent entries with zeros"},
      {{"x[i,j,r] ddd:0,1,2 f64", "x[i,j,r] dsd:0,1,2 f64"}, "not stored over j, which its writer and its reader share"},
      {{"result R dd:0,1 f64", "result R ds:0,1 f64"}, "cannot become vector code"},
      {{"T[i,j,k] * C[k,r]   loops", "T[i,k,j] * C[k,r]   loops"}, "is no factor of the expression"},
      {{"tree ((T * C) * B)", "tree ((T * B) * C)"}, "order of the tree"},
      {{"tree ((T * C) * B)", "tree (T * B * C)"}, "order of the tree"},
      {{"+= T[i,j,k]", "+= 2 * T[i,j,k]"}, "coefficients multiply to 2"},
      {{"loops i,j,k,r", "loops i,j,k"}, "no loop over r"},
      {{"loops i,j,r   fused", "loops i,j,k,r   fused"}, "a loop over k"},
      {{"loops i,j,r   fused", "loops i,j,j,r   fused"}, "two loops over j"},
      {{"loops i,j,r   fused 2", "loops j,i,r   fused 2"}, "shared loop 1 is j here but i"},
      {{"fused 2", "fused 4"}, "4 loops cannot be shared"},
      {{"loops i,j,k,r   vector r", "loops i,j,r,k   vector k"}, "cannot become vector code"},
      {{"loops i,j,k,r   vector r", "loops i,j,k,r   vector k"}, "only the innermost loop"},
      {{"parallel i owner", ""}, "no line 'parallel'"},
      {{"intermediate x[i,j,r]", "intermediate x[i,j,k]"}, "x is not written with its own indices"},
  };
  for (const auto& [change, expected] : cases) {
    const std::string found = defect(mttkrp(), replaced(change.first, change.second));
    CAPTURE(change.second);
    CAPTURE(found);
    CHECK(found.find(expected) != std::string::npos);
  }
}

TEST_CASE("a pinned layout is not converted, a requested result format is honoured") {
  OwnedProblem made = mttkrp();
  const std::string converted = replaced("layout T sss:0,1,2 f64", "layout T dss:0,1,2 f64 converted");
  CHECK(defect(made, converted).empty());
  made.operands[0].pinned = true;
  CHECK(defect(made, converted).find("is pinned") != std::string::npos);
  CHECK(defect(made, good).empty());
  made.options.result_formats["R"] = *parse_format("dd:1,0");
  CHECK(defect(made, good).find("dd:1,0 was requested") != std::string::npos);
  CHECK(defect(made, replaced("result R dd:0,1 f64", "result R dd:1,0 f64")).empty());
}

TEST_CASE("owners must own, and strict sums are not reordered") {
  OwnedProblem made = mttkrp();
  std::string text = good;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"loops i,j,k,r", "loops j,i,k,r"},
                                 {"loops i,j,r", "loops j,i,r"},
                                 {"parallel i", "parallel j"}}) {
    text.replace(text.find(from), from.size(), to);
  }
  CHECK(defect(made, text).find("R has no index j") != std::string::npos);
  text.replace(text.find("owner"), 5, "private");
  CHECK(defect(made, text).empty());
  made.options.strict_fp = true;
  CHECK(defect(made, text).find("private copies") != std::string::npos);
  text.replace(text.find("private"), 7, "serial");
  CHECK(defect(made, text).empty());

  OwnedProblem dot = problem("a:i b:i -> ", {{'i', 100}});
  const std::string sum =
      "schedule\n tree (a * b)\n layout a d:0 f64\n layout b d:0 f64\n result R f64\n"
      " R[] += a[i] * b[i] loops i vector i\n parallel i serial\n";
  CHECK(defect(dot, sum).empty());
  dot.options.strict_fp = true;
  CHECK(defect(dot, sum).find("cannot become vector code") != std::string::npos);
}

TEST_CASE("a statement without loops runs serially, and every nest needs its line") {
  const OwnedProblem made = problem("s:- t:- -> ", {});
  const std::string text =
      "schedule\n tree (s * t)\n layout s f64\n layout t f64\n result R f64\n R[] += s[] * t[] loops ()\n parallel () ";
  CHECK(defect(made, text + "serial\n").empty());
  CHECK(defect(made, text + "owner\n").find("serially") != std::string::npos);
}

TEST_CASE("two products do not leave one nest that sparse factors filter") {
  const auto text = [](const std::string& kinds) {
    return "schedule\n tree ((A * B) * (C * D))\n layout A " + kinds +
           " f64\n layout B dd f64\n layout C dd f64\n layout D dd f64\n"
           " intermediate x[i,k] dd f64\n intermediate y[i,l] dd f64\n result R dd f64\n"
           " x[i,k] += A[i,j] * B[j,k] loops i,j,k\n y[i,l] += C[i,m] * D[m,l] loops i,m,l fused 1\n"
           " R[k,l] += x[i,k] * y[i,l] loops i,k,l\n parallel i owner\n parallel i private\n";
  };
  const std::map<char, std::uint64_t> extents{{'i', 9}, {'j', 9}, {'k', 9}, {'l', 9}, {'m', 9}};
  const OwnedProblem sparse = problem("A:ij:ss:20 B:jk C:im D:ml -> kl", extents);
  CHECK(defect(sparse, text("ss")).find("x and y both leave this loop nest") != std::string::npos);
  CHECK(defect(problem("A:ij B:jk C:im D:ml -> kl", extents), text("dd")).empty());
  std::string shared = text("ss");
  shared.replace(shared.find("loops i,k,l"), 11, "loops i,k,l fused 1");
  shared.replace(shared.find("parallel i owner\n parallel i private"), 36, "parallel i private");
  CHECK(defect(sparse, shared).empty());
}

}  // namespace check_test
