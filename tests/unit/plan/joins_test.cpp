#include "engine/plan/estimate/joins.h"

#include <doctest/doctest.h>

#include "unit/plan/networks.h"

namespace joins_test {

using namespace weft;
using namespace weft::plan_test;

TEST_CASE("sparse accesses are numbered once each, by mode") {
  const OwnedProblem made = problem("K:ij:ss:20 d:j K:jk:ss:20 K:ij:ss:20 -> ik", {{'i', 6}, {'j', 6}, {'k', 6}});
  const std::vector<Occurrence> found = occurrences(made.network, made.operands);
  REQUIRE(found.size() == 2);
  CHECK(found[0].first_bit == 0);
  CHECK(found[0].all() == 0b0011);
  CHECK(found[1].first_bit == 2);
  CHECK(found[1].all() == 0b1100);
}

TEST_CASE("what nobody counted is as far off independence as the largest counted join within it") {
  const OwnedProblem made = problem("K:ij:ss:9 L:jk:ss:9 M:kl:ss:9 -> il", {{'i', 4}, {'j', 4}, {'k', 4}, {'l', 4}});
  const std::vector<Occurrence> known = occurrences(made.network, made.operands);
  const auto ratio = [&](JoinSet set, const std::map<JoinSet, double>& counted) { return counted_ratio(set, known, counted); };
  std::map<JoinSet, double> counted = {{0b000110, 3}, {0b011000, 0.5}};
  CHECK(ratio(0b000110, counted) == 3);
  CHECK(ratio(0b000111, counted) == 3);
  CHECK(ratio(0b111100, counted) == 0.5);
  CHECK(ratio(0b111111, counted) == 3);  // of two as large the one that is farther above
  counted[0b001111] = 2;
  CHECK(ratio(0b111111, counted) == 2);  // the largest, whatever smaller ones say
  counted[0b111111] = 7;
  CHECK(ratio(0b111111, counted) == 7);
  CHECK(ratio(0b000011, counted) == 1);  // no join
  CHECK(ratio(0b000110, {{0b111111, 7}}) == 1);
}

TEST_CASE("only connected sets of two and more occurrences are joins") {
  // K[i,j] is bits 0 and 1, L[j,k] bits 2 and 3, M[l,m] bits 4 and 5, N[m,n] bits 6 and 7.
  const OwnedProblem made = problem("K:ij:ss:9 L:jk:ss:9 M:lm:ss:9 N:mn:ss:9 -> in",
                               {{'i', 4}, {'j', 4}, {'k', 4}, {'l', 4}, {'m', 4}, {'n', 4}});
  const std::vector<Occurrence> known = occurrences(made.network, made.operands);
  CHECK(joins_in(0b00001111, known) == std::vector<JoinSet>{0b1111});
  CHECK(joins_in(0b00000110, known) == std::vector<JoinSet>{0b0110});
  CHECK(joins_in(0b00001001, known).empty());  // i and k do not meet
  CHECK(joins_in(0b00000011, known).empty());
  CHECK(joins_in(0b11111111, known) == std::vector<JoinSet>{0b00001111, 0b11110000});
  CHECK(joins_in(0, known).empty());
}

}  // namespace joins_test
