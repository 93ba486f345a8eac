#include "oracle/einsum.h"

#include <doctest/doctest.h>

namespace einsum_test {

using namespace weft::test;

TEST_CASE("the oracle against products done by hand") {
  const CoordinateMap matrix = {{{0, 0}, 1}, {{0, 2}, 2}, {{1, 1}, 3}};
  const CoordinateMap vector = {{{0}, 5}, {{2}, 7}};
  const CoordinateMap scalar = {{{}, 4}};
  CHECK(einsum({"i"}, {{{"i", "j"}, &matrix}, {{"j"}, &vector}}, 1) == CoordinateMap{{{0}, 19}});
  CHECK(einsum({"j", "i"}, {{{"i", "j"}, &matrix}}, -2) == CoordinateMap{{{0, 0}, -2}, {{2, 0}, -4}, {{1, 1}, -6}});
  CHECK(einsum({}, {{{"i", "i"}, &matrix}, {{}, &scalar}}, 1) == CoordinateMap{{{}, 16}});
  CHECK(einsum({"j"}, {{{"i", "j"}, &matrix}, {{"i", "k"}, &matrix}}, 1) ==
        CoordinateMap{{{0}, 3}, {{1}, 9}, {{2}, 6}});
}

TEST_CASE("the oracle: absent annihilates, cancelled sums stay") {
  const CoordinateMap none;
  const CoordinateMap opposite = {{{0}, 1}, {{1}, -1}};
  CHECK(einsum({}, {{{"i"}, &none}, {{"i"}, &opposite}}, 1).empty());
  CHECK(einsum({}, {{{"i"}, &opposite}}, 1) == CoordinateMap{{{}, 0}});
}

}  // namespace einsum_test
