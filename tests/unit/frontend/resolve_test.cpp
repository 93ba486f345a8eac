#include "frontend/resolve.h"

#include <doctest/doctest.h>

namespace resolve_test {

using namespace weft;

namespace {

using Operands = std::vector<OperandShape>;

Expected<Network> resolved(std::string_view text, const Operands& operands) {
  const auto expression = parse_expression(text);
  REQUIRE_MESSAGE(expression, text);
  return resolve(*expression, operands);
}

std::string printed(std::string_view text, const Operands& operands) {
  const auto network = resolved(text, operands);
  if (!network) return network.error().message;
  CHECK(check(*network));
  return print(*network);
}

std::string error_of(std::string_view text, const Operands& operands) {
  const auto network = resolved(text, operands);
  REQUIRE_MESSAGE(!network, text);
  CHECK(network.error().kind == ErrorKind::input);
  return network.error().message;
}

const Operands three{{"T", {3, 4, 300}}, {"B", {4, 5}}, {"C", {300, 5}}};
const char* const mttkrp = "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)";

}  // namespace

TEST_CASE("a network of index notation") {
  const auto network = resolved(mttkrp, three);
  REQUIRE(network);
  CHECK(network->indices == std::vector<Index>{{"i", 3}, {"r", 5}, {"j", 4}, {"k", 300}});
  CHECK(network->tensors == std::vector<TensorDeclaration>{{"A", {3, 5}, Scalar::f64, true},
                                                           {"T", {3, 4, 300}, Scalar::f64, false},
                                                           {"B", {4, 5}, Scalar::f64, false},
                                                           {"C", {300, 5}, Scalar::f64, false}});
  REQUIRE(network->assignments.size() == 1);
  CHECK(network->assignments[0].result == TensorAccess{0, {0, 1}});
  const Term& term = network->assignments[0].terms[0];
  CHECK(term.factors == std::vector<TensorAccess>{{1, {0, 2, 3}}, {2, {2, 1}}, {3, {3, 1}}});
  CHECK(term.coefficient == 1);
  CHECK(term.pinned == flat_tree(3));
  CHECK(term.open);
  CHECK(print(*network) == mttkrp);
}

TEST_CASE("the order in which operands are given does not matter to index notation") {
  CHECK(resolved(mttkrp, {three[2], three[0], three[1]}) == resolved(mttkrp, three));
}

TEST_CASE("einsum names its operands and its result") {
  CHECK(printed("ijk,jr,kr->ir", {{"", {3, 4, 300}}, {"", {4, 5}}, {"", {300, 5}}}) ==
        "out(i,r) = T0(i,j,k) * T1(j,r) * T2(k,r)");
  CHECK(printed("ijk,jr,kr->ir", {{"T", {3, 4, 300}}, {"", {4, 5}}, {"F", {300, 5}}}) ==
        "out(i,r) = T(i,j,k) * T1(j,r) * F(k,r)");
  CHECK(printed(",i", {{"s", {}}, {"", {4}}}) == "out(i) = s() * T1(i)");
  CHECK(printed("ii->i", {{"", {4, 4}}}) == "out(i) = T0(i,i)");
  CHECK(printed("bA,Zc", {{"", {1, 2}}, {"", {3, 4}}}) == "out(A,Z,b,c) = T0(b,A) * T1(Z,c)");
  CHECK(printed("->", {{"", {}}}) == "out() = T0()");
}

TEST_CASE("one operand, many factors; diagonals, private indices, scalars, transposes, coefficients") {
  const auto chain = resolved("O(b) = K(u,v,b) * K(v,w,b)", {{"K", {7, 7, 9}}});
  REQUIRE(chain);
  CHECK(chain->tensors.size() == 2);
  CHECK(chain->assignments[0].terms[0].factors == std::vector<TensorAccess>{{1, {1, 2, 0}}, {1, {2, 3, 0}}});
  CHECK(printed("A(j,i) = T(i,i,j)", {{"T", {2, 2, 3}}}) == "A(j,i) = T(i,i,j)");
  CHECK(printed("a = T(i) * 0.5 * s * -1", {{"T", {2}}, {"s", {}}}) == "a() = -0.5 * T(i) * s()");
  CHECK(printed("a = 3", {}) == "a() = 3");
  CHECK(printed("A(i) = T(i,j,k)", {{"T", {0, 1, 5}}}) == "A(i) = T(i,j,k)");
  CHECK(printed("A(i,j) = (B(i) * C(j)) * D(k) * E(k)", {{"B", {1}}, {"C", {2}}, {"D", {3}}, {"E", {3}}}) ==
        "A(i,j) = (B(i) * C(j)) * D(k) * E(k)");
}

TEST_CASE("extents whose product exceeds 64 bits") {
  const std::uint64_t large = ~std::uint64_t{0};
  const auto network = resolved("A(i,j,k) = T(i,j,k) * s", {{"T", {large, large, large}}, {"s", {}}});
  REQUIRE(network);
  CHECK(network->tensors[0].extents == std::vector<std::uint64_t>{large, large, large});
}

TEST_CASE("the scalar of a result") {
  const auto scalar = [](Scalar first, Scalar second) {
    const auto network = resolved("A(i) = T(i) * B(i)", {{"T", {2}, first}, {"B", {2}, second}});
    REQUIRE(network);
    return network->tensors[0].scalar;
  };
  CHECK(scalar(Scalar::f64, Scalar::f64) == Scalar::f64);
  CHECK(scalar(Scalar::f32, Scalar::f64) == Scalar::f64);
  CHECK(scalar(Scalar::f32, Scalar::f32) == Scalar::f32);
  CHECK(resolved("a = 3", {})->tensors[0].scalar == Scalar::f64);
  const auto chain = resolved("S(i) = T(i); O(i) = S(i)", {{"T", {2}, Scalar::f32}});
  REQUIRE(chain);
  CHECK(chain->tensors[2].scalar == Scalar::f32);
}

TEST_CASE("unequal extents come with a picture of both places") {
  Operands operands = three;
  operands[2].extents[0] = 299;
  CHECK(error_of(mttkrp, operands) ==
        "index k is 300 in T (mode 2) but 299 in C (mode 0)\n"
        "  A(i,r) = T(i,j,k) * B(j,r) * C(k,r)\n"
        "                 ^               ^");
  CHECK(error_of("ijk,jr,kr->ir", {{"", {3, 4, 300}}, {"", {4, 5}}, {"", {299, 5}}}) ==
        "index k is 300 in T0 (mode 2) but 299 in T2 (mode 0)\n  ijk,jr,kr->ir\n    ^    ^");
  CHECK(error_of("A(i) = T(i,i)", {{"T", {3, 4}}}) ==
        "index i is 3 in T (mode 0) but 4 in T (mode 1)\n  A(i) = T(i,i)\n           ^ ^");
  // Extent 1 is not broadcast.
  CHECK(error_of("A(i) = T(i) * B(i)", {{"T", {3}}, {"B", {1}}}).starts_with("index i is 3 in T (mode 0) but 1 in B"));
}

TEST_CASE("orders and results") {
  CHECK(error_of("A(i) = T(i)", {{"T", {3, 4}}}) ==
        "T has 2 modes but is written with 1 index\n  A(i) = T(i)\n         ^");
  CHECK(error_of("A(i) = T(i,j)", {{"T", {3}}}).starts_with("T has 1 mode but is written with 2 indices"));
  CHECK(error_of("a = s(i)", {{"s", {}}}).starts_with("s has 0 modes but is written with 1 index"));
  CHECK(error_of("ij->i", {{"", {3}}}).starts_with("T0 has 1 mode but is written with 2 indices\n  ij->i\n  ^"));
  CHECK(error_of("A(i,j,i) = T(i,j)", {{"T", {3, 4}}}) ==
        "index i stands twice in the result A\n  A(i,j,i) = T(i,j)\n    ^   ^");
  CHECK(error_of("ij->ii", {{"", {3, 4}}}) == "index i stands twice in the result out\n  ij->ii\n      ^^");
  CHECK(error_of("A(i,z) = T(i)", {{"T", {3}}}) == "index z of the result A is in no factor\n  A(i,z) = T(i)\n      ^");
  CHECK(error_of("A(i) = 3", {}).starts_with("index i of the result A is in no factor"));
  CHECK(error_of("ij->iq", {{"", {3, 4}}}) == "index q of the result out is in no factor\n  ij->iq\n       ^");
}

TEST_CASE("operands of index notation: missing, unused, twice, nameless, misnamed") {
  CHECK(error_of("A(i) = T(i) * Q(i) * R(i) * Q(i)", {{"T", {3}}}) ==
        "no operand is given for Q and R\n  A(i) = T(i) * Q(i) * R(i) * Q(i)\n                ^      ^     "
        " ^");
  CHECK(error_of("A(i) = T(i)", {{"T", {3}}, {"Q", {3}}}) == "operand Q is not used in the expression");
  CHECK(error_of("A(i) = T(i)", {{"T", {3}}, {"Q", {3}}, {"R", {}}, {"S", {}}}) ==
        "operands Q, R and S are not used in the expression");
  CHECK(error_of("A(i) = T(i)", {{"T", {3}}, {"T", {3}}}) == "operand T is given twice");
  CHECK(error_of("A(i) = T(i)", {{"T", {3}}, {"", {3}}}) ==
        "operand 2 has no name: with index notation every operand is NAME=SPEC");
  CHECK(error_of("A(i) = T(i)", {{"2T", {3}}}).starts_with("\"2T\" cannot name an operand"));
  CHECK(error_of("A(i) = T(i) * A(i)", {{"T", {3}}, {"A", {3}}}) ==
        "the result A is named like an operand\n  A(i) = T(i) * A(i)\n  ^");
}

TEST_CASE("operands of einsum: the wrong number, names that clash") {
  CHECK(error_of("ij,jk->ik", {{"", {3, 4}}}) == "the expression has 2 operands but 1 is given\n  ij,jk->ik\n     ^");
  CHECK(error_of("ij,jk,->ik", {}) == "the expression has 3 operands but 0 are given\n  ij,jk,->ik\n  ^  ^  ^");
  CHECK(error_of("i->i", {{"", {3}}, {"", {3}}, {"", {3}}}) == "the expression has 1 operand but 3 are given");
  CHECK(error_of("i,i", {{"A", {3}}, {"A", {3}}}) == "operand A is given twice");
  CHECK(error_of("i,i", {{"T1", {3}}, {"", {3}}}).starts_with("the unnamed operand T1 would be called T1"));
  CHECK(error_of("i,i", {{"out", {3}}, {"", {3}}}).starts_with("the result of einsum is named out"));
}

TEST_CASE("names are checked before anything is read") {
  const auto expression = parse_expression("ij,jk");
  REQUIRE(expression);
  CHECK(operand_names(*expression, {"", "B"}) == std::vector<std::string>{"T0", "B"});
  CHECK(!operand_names(*expression, {"", "B", ""}));
  const auto named = parse_expression("A = T * B");
  REQUIRE(named);
  CHECK(operand_names(*named, {"B", "T"}) == std::vector<std::string>{"B", "T"});
  CHECK(!operand_names(*named, {"B"}));
}

TEST_CASE("several assignments: earlier results are factors, indices belong to their assignment") {
  const auto network = resolved("S(i,j) = M(i,j) * A(i,k) * B(j,k); O(i,h) = S(i,j) * D(j,h)",
                                {{"M", {2, 3}}, {"A", {2, 4}}, {"B", {3, 4}}, {"D", {3, 5}}});
  REQUIRE(network);
  CHECK(print(*network) == "S(i,j) = M(i,j) * A(i,k) * B(j,k)\nO(i,h) = S(i,j) * D(j,h)");
  CHECK(network->indices == std::vector<Index>{{"i", 2}, {"j", 3}, {"k", 4}, {"h", 5}});
  const TensorId s = network->assignments[0].result.tensor;
  CHECK(network->assignments[1].terms[0].factors[0] == TensorAccess{s, {0, 1}});

  // i is 2 in the first and 3 in the second assignment: another index of the same name.
  const auto renamed = resolved("S(i) = M(i,j)\nO(i) = M(j,i) * S(j)", {{"M", {2, 3}}});
  REQUIRE(renamed);
  CHECK(renamed->indices == std::vector<Index>{{"i", 2}, {"j", 3}, {"i", 3}, {"j", 2}});
  CHECK(print(*renamed) == "S(i) = M(i,j)\nO(i) = M(j,i) * S(j)");

  CHECK(error_of("S(i) = M(i); O(i) = S(i) * N(i)", {{"M", {2}}, {"N", {3}}}) ==
        "index i is 2 in S (mode 0) but 3 in N (mode 0)\n  S(i) = M(i); O(i) = S(i) * N(i)\n                        ^  "
        "    ^");
  CHECK(error_of("S(i) = M(i); S(i) = M(i)", {{"M", {2}}}) ==
        "S is assigned twice\n  S(i) = M(i); S(i) = M(i)\n  ^            ^");
  CHECK(error_of("S(i) = O(i); O(i) = M(i)", {{"M", {2}}}) ==
        "O is used before it is assigned\n  S(i) = O(i); O(i) = M(i)\n         ^");
  CHECK(error_of("S(i) = S(i)", {}).starts_with("S is used before it is assigned"));
  CHECK(error_of("S(i) = M(i)\nO(i) = S(i,i)", {{"M", {2}}}) ==
        "S has 1 mode but is written with 2 indices\n  O(i) = S(i,i)\n         ^");
}

}  // namespace resolve_test
