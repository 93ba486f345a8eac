#include <doctest/doctest.h>

#include "engine/plan/plan.h"
#include "unit/plan/networks.h"

namespace explain_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("the explanation has tree, nest, layouts, memory, price and runner-up") {
  OwnedProblem made = problem("A:ipq:sss:17280 B:jpr:sss:17280 C:kqr:sss:17280 D:jkr:sss:17280 -> ijk",
                         {{'i', 120}, {'j', 120}, {'k', 120}, {'p', 120}, {'q', 120}, {'r', 120}});
  made.options.calls = 1000;
  const auto found = plan(made);
  REQUIRE(found.has_value());
  const std::string text = explain(*found, made);
  for (const char* part : {"tree (A * B * C * D)", "loop nest", "for ", "R[i,j,k] +=", "layouts", "opened in place from", "converted from",
                           "1000 calls", "memory", "peak", "predicted", "runner-up"}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
  std::size_t loops = 0;
  for (std::size_t at = text.find("for "); at != std::string::npos; at = text.find("for ", at + 1)) ++loops;
  CHECK(loops >= 6);
}

TEST_CASE("fused statements stand inside their shared loops") {
  const OwnedProblem made = problem("T:ijk:sss:3000000 B:jr C:kr -> ir", {{'i', 500}, {'j', 500}, {'k', 500}, {'r', 32}});
  const auto found = plan(made);
  REQUIRE(found.has_value());
  const std::string text = explain(*found, made);
  CHECK(text.find("\n  for i  parallel") != std::string::npos);
  CHECK(text.find("\n        for r  vector") != std::string::npos);
  CHECK(text.find("\n          x[i,j,r] += T[i,j,k] * C[k,r]\n") != std::string::npos);
  CHECK(text.find("\n        R[i,r] += x[i,j,r] * B[j,r]\n") != std::string::npos);
  CHECK(text.find("intermediate over i,j,r") != std::string::npos);
}

TEST_CASE("a plan without loops is explained too") {
  const OwnedProblem made = problem("s:- t:- -> ", {});
  const auto found = plan(made);
  REQUIRE(found.has_value());
  CHECK(explain(*found, made).find("s scalar f64  kept") != std::string::npos);
}

}  // namespace explain_test
