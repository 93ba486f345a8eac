#include "engine/network/network.h"

#include <doctest/doctest.h>

#include <limits>
#include <utility>

namespace network_test {

using namespace weft;

namespace {

// Not nested initializer lists: GCC 12 warns of uninitialized vectors in them.
Assignment assign(TensorAccess result, std::vector<Term> terms) {
  Assignment assignment;
  assignment.result = std::move(result);
  assignment.terms = std::move(terms);
  return assignment;
}

// A(i,r) = 2 * (T(i,j,k) * C(k,r)) * B(j,r)
Network mttkrp() {
  Network network;
  network.indices = {{"i", 3}, {"r", 32}, {"j", std::uint64_t{1} << 62}, {"k", 5}};
  network.tensors = {{"A", {3, 32}, Scalar::f64, true},
                     {"T", {3, std::uint64_t{1} << 62, 5}, Scalar::f64, false},
                     {"C", {5, 32}, Scalar::f32, false},
                     {"B", {std::uint64_t{1} << 62, 32}, Scalar::f64, false}};
  Term term;
  term.coefficient = 2;
  term.factors = {{1, {0, 2, 3}}, {2, {3, 1}}, {3, {2, 1}}};
  term.pinned = *parse_tree("(T * C) * B", {"T", "C", "B"});
  term.open = false;
  network.assignments.push_back(assign({0, {0, 1}}, {term}));
  return network;
}

std::string error_of(const Network& network) {
  const auto good = check(network);
  REQUIRE(!good);
  CHECK(good.error().kind == ErrorKind::input);
  return good.error().message;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a network checks and prints") {
  const Network network = mttkrp();
  CHECK(check(network));
  CHECK(print(network) == "A(i,r) = 2 * (T(i,j,k) * C(k,r)) * B(j,r)");
}

TEST_CASE("parentheses are printed where they pin") {
  Network network = mttkrp();
  Term& term = network.assignments[0].terms[0];
  term.pinned = flat_tree(3);
  term.coefficient = 1;
  CHECK(print(network) == "A(i,r) = (T(i,j,k) * C(k,r) * B(j,r))");
  term.open = true;
  CHECK(print(network) == "A(i,r) = T(i,j,k) * C(k,r) * B(j,r)");
  term.pinned = flat_tree(2);
  term.factors.pop_back();
  CHECK(print(network) == "A(i,r) = T(i,j,k) * C(k,r)");
  term.open = false;
  CHECK(print(network) == "A(i,r) = (T(i,j,k) * C(k,r))");
}

TEST_CASE("coefficients are printed before the product") {
  Network network = mttkrp();
  Term& term = network.assignments[0].terms[0];
  term.pinned = flat_tree(3);
  term.open = true;
  term.coefficient = -0.1;
  CHECK(print(network) == "A(i,r) = -0.1 * T(i,j,k) * C(k,r) * B(j,r)");
}

TEST_CASE("several assignments and terms, scalars, coefficients alone") {
  Network network;
  network.indices = {{"i", 0}};
  network.tensors = {{"s", {}, Scalar::f64, true}, {"v", {0}, Scalar::f64, false}, {"w", {0}, Scalar::f64, true}};
  Term alone;
  alone.coefficient = 3;
  Term sum;
  sum.factors = {{1, {0}}};
  sum.pinned = flat_tree(1);
  Term product;
  product.factors = {{0, {}}, {1, {0}}};
  product.pinned = flat_tree(2);
  network.assignments.push_back(assign({0, {}}, {alone, sum}));
  network.assignments.push_back(assign({2, {0}}, {product}));
  CHECK(check(network));
  CHECK(print(network) == "s() = 3 + v(i)\nw(i) = s() * v(i)");
}

TEST_CASE("check names what is wrong") {
  const Network good = mttkrp();
  const auto changed = [&](auto change) {
    Network network = good;
    change(network);
    return error_of(network);
  };
  CHECK(contains(error_of(Network{}), "no assignment"));
  CHECK(
      contains(changed([](Network& n) { n.indices[0].name = std::string("2i"); }), "\"2i\" is not a name of an index"));
  CHECK(contains(changed([](Network& n) { n.tensors[1].name = std::string(""); }), "\"\" is not a name of a tensor"));
  CHECK(contains(changed([](Network& n) { n.tensors[1].name = std::string("B"); }), "two tensors are named B"));
  CHECK(contains(changed([](Network& n) { n.tensors[1].extents[2] = 6; }), "index k is 5 but mode 2 of T is 6"));
  CHECK(contains(changed([](Network& n) { n.tensors[0].extents[1] = 31; }), "index r is 32 but mode 1 of A is 31"));
  CHECK(contains(changed([](Network& n) { n.assignments[0].terms[0].factors[1].indices.pop_back(); }),
                 "C has 2 modes but is accessed with 1 indices"));
  CHECK(contains(changed([](Network& n) { n.assignments[0].terms[0].factors[1].tensor = 4; }), "tensor 4 of 4"));
  CHECK(contains(changed([](Network& n) { n.assignments[0].terms[0].factors[1].indices[0] = 9; }), "index 9 of 4"));
  CHECK(contains(changed([](Network& n) { n.assignments[0].result.tensor = 9; }), "tensor 9 of 4"));
  CHECK(contains(changed([](Network& n) { n.tensors[0].is_result = false; }), "A is assigned but is an operand"));
  CHECK(contains(changed([](Network& n) { n.assignments.push_back(n.assignments[0]); }), "A is assigned twice"));
  CHECK(contains(changed([](Network& n) { n.tensors[3].is_result = true; }), "B is used before it is assigned"));
  CHECK(contains(changed([](Network& n) {
                   n.tensors.push_back({"Z", {}, Scalar::f64, true});
                 }),
                 "Z is never assigned"));
  CHECK(contains(changed([](Network& n) { n.assignments[0].terms.clear(); }), "A has no term"));
  CHECK(contains(changed([](Network& n) { n.assignments[0].terms[0].pinned = flat_tree(2); }), "factor 2 is missing"));
  CHECK(contains(changed([](Network& n) { n.assignments[0].terms[0].pinned = {}; }), "factor 0 is missing"));
  CHECK(contains(
      changed([](Network& n) { n.assignments[0].terms[0].coefficient = std::numeric_limits<double>::infinity(); }),
      "not finite"));
  CHECK(contains(changed([](Network& n) { n.indices[2].name = std::string("k"); }),
                 "two indices of the assignment to A are named k"));
  CHECK(contains(changed([](Network& n) {
                   n.tensors[0].extents = {3, 3};
                   n.assignments[0].result.indices = {0, 0};
                 }),
                 "index i is twice in the result A"));
  CHECK(contains(changed([](Network& n) {
                   n.indices.push_back({"z", 3});
                   n.assignments[0].result.indices[0] = 4;
                 }),
                 "index z of A is in no factor"));
  // Every term needs the result's indices.
  CHECK(contains(changed([](Network& n) {
                   Term term;
                   term.factors = {{2, {3, 1}}};
                   term.pinned = flat_tree(1);
                   n.assignments[0].terms.push_back(term);
                 }),
                 "index i of A is in no factor"));
}

}  // namespace network_test
