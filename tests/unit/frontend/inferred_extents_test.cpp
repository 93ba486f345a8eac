#include "frontend/inferred_extents.h"

#include <doctest/doctest.h>

namespace weft::inferred_extents_test {

namespace {

using Grown = std::vector<GrownMode>;

Grown grown(std::string_view expression, const std::vector<KnownShape>& operands) {
  const auto parsed = parse_expression(expression);
  REQUIRE(parsed.has_value());
  return grown_modes(*parsed, operands);
}

}  // namespace

TEST_CASE("inferred extents grow to what another operand says, in both notations") {
  const Grown expected = {{0, 1, 99, 100, "B"}};
  CHECK(grown("A(i,r) = T(i,j) * B(j,r)", {{"T", {5, 99}, true}, {"B", {100, 3}, false}}) == expected);
  CHECK(grown("ij,jr->ir", {{"T", {5, 99}, true}, {"B", {100, 3}, false}}) == expected);
  // What is not inferred, and what is longer already, stays.
  CHECK(grown("A(i,r) = T(i,j) * B(j,r)", {{"T", {5, 99}, false}, {"B", {100, 3}, false}}).empty());
  CHECK(grown("A(i,r) = T(i,j) * B(j,r)", {{"T", {5, 101}, true}, {"B", {100, 3}, false}}).empty());
  CHECK(grown("A(i,r) = T(i,j) * B(j,r)", {{"T", {5, 100}, true}, {"B", {100, 3}, false}}).empty());
}

TEST_CASE("inferred extents of several operands become the largest") {
  CHECK(grown("A(i,k) = T(i,j) * U(j,k)", {{"T", {5, 9}, true}, {"U", {7, 3}, true}}) == Grown{{1, 0, 7, 9, "T"}});
  // One that is fixed and shorter is an error that resolve() tells of the extents as they were read.
  CHECK(
      grown("A(i,k) = T(i,j) * U(j,k) * B(j)", {{"T", {5, 9}, true}, {"U", {7, 3}, true}, {"B", {8}, false}}).empty());
  CHECK(grown("A(i) = T(i,j) * B(j) * C(j)", {{"T", {5, 7}, true}, {"B", {8}, false}, {"C", {9}, false}}).empty());
}

TEST_CASE("inferred extents grow on diagonals, through operands that occur twice, and through intermediates") {
  CHECK(grown("A(i) = T(i,i)", {{"T", {5, 8}, true}}) == Grown{{0, 0, 5, 8, "T"}});
  CHECK(grown("A(i,k) = T(i,j) * T(j,k) * B(k)", {{"T", {5, 5}, true}, {"B", {9}, false}}) ==
        Grown{{0, 0, 5, 9, "B"}, {0, 1, 5, 9, "B"}});
  CHECK(grown("S(i,k) = T(i,j) * U(j,k); A(i) = S(i,k) * B(k)",
              {{"T", {5, 6}, true}, {"U", {6, 3}, true}, {"B", {4}, false}}) == Grown{{1, 1, 3, 4, "B"}});
  // Indices belong to their assignment.
  CHECK(grown("S(i) = T(i,k) * B(k); A(k) = S(k) * C(k)", {{"T", {5, 4}, true}, {"B", {4}, false}, {"C", {5}, false}})
            .empty());
}

TEST_CASE("inferred extents: what resolve() refuses grows nothing and does no harm") {
  CHECK(grown("A(i) = T(i,j) * B(j)", {{"T", {5}, true}, {"B", {9}, false}}).empty());
  CHECK(grown("A(i) = T(i) * X(i)", {{"T", {5}, true}}).empty());
  CHECK(grown("ij,jk->ik", {{"T", {5, 9}, true}}).empty());
}

}  // namespace weft::inferred_extents_test
