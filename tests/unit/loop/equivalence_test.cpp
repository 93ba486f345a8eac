#include "engine/loop/equivalence.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace equivalence_test {

using namespace weft;
using namespace weft::loop;

namespace {

using Factors = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::vector<Definition> definitions_of(const std::string& text) {
  const Expected<Program> program = parse(text);
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const auto found = definitions(*program);
  REQUIRE_MESSAGE(found.has_value(), found.error().message);
  return *found;
}

}  // namespace

TEST_CASE("a workspace is replaced by its product") {
  const auto found = definitions_of(R"(program mttkrp
  input  T : f64 {compressed<32,32>, compressed<32,32>, compressed<32,32>}   access T[i,j,k]
  input  B : f64 {dense, dense}   access B[j,r]
  input  C : f64 {dense, dense}   access C[k,r]
  output A : f64 {dense, dense}   access A[i,r]
  for i: drive T, insert A
    for j: drive T, locate B
      with x[r] : f64 {dense}
        for k: drive T, locate C
          for r: locate C, insert x
            x -= c3 * T * C
        for r: locate x, locate B, insert A
          A -= c1 * x * B
)");
  const Factors factors{{"B", {"j", "r"}}, {"C", {"k", "r"}}, {"T", {"i", "j", "k"}}};
  CHECK(found == std::vector<Definition>{{"A", {"i", "r"}, {{factors, false, {1, 3}}}}});
}

TEST_CASE("the result does not depend on the order of factors, terms and loops") {
  const auto one = definitions_of(R"(program one
  input  a : f64 {dense}   access a[i]
  input  b : f64 {dense}   access b[j]
  output C : f64 {dense, dense}   access C[i,j]
  for i: locate a, insert C
    for j: locate b, insert C
      C += a * b
      C -= a * b * b
)");
  const auto two = definitions_of(R"(program two
  input  b : f64 {dense}   access b[j]
  input  a : f64 {dense}   access a[i]
  output C : f64 {dense, dense}   access C[i,j]
  for j: locate b
    for i: locate a, insert C, insert C
      C -= b * a * b
  for j: locate b
    for i: locate a, insert C, insert C
      C += b * a
)");
  CHECK(one == two);
  REQUIRE(one.size() == 1);
  CHECK(one[0].products.size() == 2);
}

TEST_CASE("a sum that is used twice keeps its indices apart") {
  const auto found = definitions_of(R"(program square
  input  a : f64 {dense}   access a[k]
  output s : f64 {}        access s[]
  with x[] : f64 {}
    for k: locate a
      x += a
    s += x * x
)");
  const Factors factors{{"a", {"k"}}, {"a", {"k'"}}};
  CHECK(found == std::vector<Definition>{{"s", {}, {{factors, false, {}}}}});
}

TEST_CASE("a workspace is read under other indices than it is written, and sums distribute") {
  const auto found = definitions_of(R"(program outer
  input  a : f64 {dense}   access a[r]
  input  b : f64 {dense}   access b[r]
  output A : f64 {dense, dense}   access A[r,s]
  with x : f64 {dense}   access x.1[r] access x.2[s]
    for r: locate a, locate b, insert x.1
      x.1 += a
      x.1 -= b
    for r: locate x.1, insert A
      for s: locate x.2, insert A
        A += x.1 * x.2
)");
  const auto product = [](const char* left, const char* right, bool negative) {
    Product expanded{{{left, {"r"}}, {right, {"s"}}}, negative, {}};
    std::sort(expanded.factors.begin(), expanded.factors.end());
    return expanded;
  };
  REQUIRE(found.size() == 1);
  CHECK(found[0].products.size() == 4);
  for (const Product& each :
       {product("a", "a", false), product("a", "b", true), product("b", "a", true), product("b", "b", false)})
    CHECK(std::count(found[0].products.begin(), found[0].products.end(), each) == 1);
}

TEST_CASE("several outputs, one of them through the same loop's workspace") {
  const auto found = definitions_of(R"(program two
  input  M : f64 {dense, compressed<32,32>}   access M[i,j]
  input  b : f64 {dense}                      access b[j]
  output y : f64 {dense}                      access y[i]
  output z : f64 {dense}                      access z.1[i] access z.2[j]
  for i: drive M, insert y, insert z.1
    with x[] : f64 {}
      for j: drive M, locate b
        x += M * b
      y += x
      z.1 += x
  for j: locate b, insert z.2
    z.2 += b
)");
  const Factors product{{"M", {"i", "j"}}, {"b", {"j"}}};
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Definition{"y", {"i"}, {{product, false, {}}}});
  CHECK(found[1] == Definition{"z", {"i"}, {{product, false, {}}, {{{"b", {"i"}}}, false, {}}}});
}

TEST_CASE("an incomplete workspace is an internal error") {
  const Program program = parse(R"(program early
  input  a : f64 {dense}   access a[k]
  output s : f64 {}        access s[]
  with x[] : f64 {}
    for k: locate a
      x += a
      s += x
)")
                              .value();
  const auto found = definitions(program);
  REQUIRE(!found);
  CHECK(found.error().kind == ErrorKind::internal);
  CHECK(found.error().message.starts_with("life cycle: workspace x"));
}

TEST_CASE("an output that nothing is added to is the empty sum") {
  const auto found = definitions_of("program zero\n  output s : f64 {}   access s[]\n");
  CHECK(found == std::vector<Definition>{{"s", {}, {}}});
}

}  // namespace equivalence_test
