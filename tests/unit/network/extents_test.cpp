#include "engine/network/extents.h"

#include <doctest/doctest.h>

namespace extents_test {

using namespace weft;

namespace {

/// s(i) = M(i,j) x(j); t(k) = s(i) N(k,i) u(j), where j of both has one number: its extents are alike.
Network two_assignments() {
  Network network;
  network.indices = {{"i", 3}, {"j", 4}, {"k", 5}};
  network.tensors = {{"M", {3, 4}}, {"x", {4}}, {"s", {3}}, {"N", {5, 3}}, {"u", {4}}, {"t", {5}}};
  network.tensors[2].is_result = network.tensors[5].is_result = true;
  network.assignments = {{{2, {0}}, {{1, {{0, {0, 1}}, {1, {1}}}, {}, true}}},
                         {{5, {2}}, {{1, {{2, {0}}, {3, {2, 0}}, {4, {1}}}, {}, true}}}};
  return network;
}

}  // namespace

TEST_CASE("extents: indices, results and later assignments follow the operands") {
  const Network network = two_assignments();
  const auto same = with_extents(network, {});
  REQUIRE(same);
  CHECK(*same == network);
  const auto taller = with_extents(network, {{0, {7, 4}}, {3, {2, 7}}});
  REQUIRE_MESSAGE(taller, taller.error().message);
  CHECK(taller->indices == std::vector<Index>{{"i", 7}, {"j", 4}, {"k", 2}});
  CHECK(taller->tensors[2].extents == std::vector<std::uint64_t>{7});
  CHECK(taller->tensors[5].extents == std::vector<std::uint64_t>{2});
}

TEST_CASE("extents: an index of two assignments becomes two where its extents part") {
  const auto parted = with_extents(two_assignments(), {{4, {9}}});
  REQUIRE(parted);
  CHECK(parted->indices == std::vector<Index>{{"i", 3}, {"j", 4}, {"k", 5}, {"j", 9}});
  CHECK(parted->assignments[0].terms[0].factors[1].indices == std::vector<IndexId>{1});
  CHECK(parted->assignments[1].terms[0].factors[2].indices == std::vector<IndexId>{3});
}

TEST_CASE("extents: an index with two extents is named with both places") {
  const auto wrong = with_extents(two_assignments(), {{1, {6}}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().kind == ErrorKind::input);
  CHECK(wrong.error().message == "index j is 4 in M (mode 1) but 6 in x (mode 0)");
  const auto later = with_extents(two_assignments(), {{0, {8, 4}}});
  REQUIRE_FALSE(later);
  CHECK(later.error().message == "index i is 8 in s (mode 0) but 3 in N (mode 1)");
}

}  // namespace extents_test
