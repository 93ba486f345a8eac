#include "frontend/pinned_trees.h"

#include <doctest/doctest.h>

#include "frontend/parse.h"
#include "frontend/resolve.h"

namespace pinned_trees_test {

using namespace weft;

namespace {

Network sampled() {
  const auto parsed = parse_expression("S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)");
  REQUIRE(parsed);
  auto network = resolve(*parsed, {{"M", {3, 4}}, {"A", {3, 2}}, {"B", {4, 2}}, {"D", {4, 5}}});
  REQUIRE_MESSAGE(network, network.error().message);
  return *network;
}

std::string pinned(const std::string& text, const PlanOptions& options = {}) {
  const auto network = with_pinned_trees(sampled(), text, options);
  return network ? print(*network) : "error: " + network.error().message;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("one tree per assignment, named or in order") {
  const std::string both = "S(i,j) = (M(i,j) * A(i,k)) * B(j,k)\nO(i,h) = (S(i,j) * D(j,h))";
  CHECK(pinned("((M * A) * B); (S * D)") == both);
  CHECK(pinned("((M * A) * B)\n(S * D)\n") == both);
  CHECK(pinned("S = ((M * A) * B); O = (S * D)") == both);
  CHECK(pinned("O = S * D; S = (M * A) * B;") == both);
}

TEST_CASE("what has no tree is written into what reads it") {
  const std::string whole = "O(i,h) = ((M(i,j) * A(i,k)) * B(j,k)) * D(j,h)";
  CHECK(pinned("(((M * A) * B) * D)") == whole);
  CHECK(pinned("O = ((M * A) * B) * D") == whole);
}

TEST_CASE("wrong trees are named") {
  PlanOptions wanted;
  wanted.results = {"S"};
  CHECK(contains(pinned("(M * A * B * D)", wanted), "no tree for the result S"));
  CHECK(contains(pinned("a; b; c"), "3 trees for 2 assignments"));
  CHECK(contains(pinned("S = M * A * B; (S * D)"), "2 trees for 2 assignments"));
  CHECK(contains(pinned("S = M * A * B"), "no tree for the result O"));
  CHECK(contains(pinned("X = M; S = M * A * B; O = S * D"), "names X"));
  CHECK(contains(pinned("S = M * A * B; O = S * D; S = M * A * B"), "two trees of S"));
  CHECK(contains(pinned("S = M * A; O = S * D"), "in the tree of S"));
  CHECK(contains(pinned(" ; \n"), "0 trees"));
}

}  // namespace pinned_trees_test
