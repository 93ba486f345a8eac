#include "runtime/elimination.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace weft::elimination_test {
namespace {

const Affine i = Affine::variable(0);
const Affine j = Affine::variable(1);

/// Variables below 100 as expressions of a, b, c, …, the values of the equations; "" for what is not found.
std::vector<std::string> solved(const std::vector<Affine>& equations, std::int64_t most = 99) {
  Elimination elimination({{0, most}, {0, most}});
  for (std::uint32_t n = 0; n < equations.size(); ++n) elimination.add(equations[n], Affine::variable(n));
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  std::vector<std::string> found;
  for (const Affine& variable : {i, j}) {
    const auto value = elimination.value_of(variable);
    found.push_back(value ? value->text(names) : "");
  }
  return found;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("quotients and remainders are joined, whatever their order") {
  CHECK(solved({i.divided(4), j.divided(4), i.modulo(4), j.modulo(4)}) == Texts{"4*a+c", "4*b+d"});
  CHECK(solved({i.modulo(3), j, i.divided(3)}) == Texts{"a+3*c", "b"});
  // Three parts: i / 8, i % 8 / 2, i % 2.
  CHECK(solved({i.divided(8), i.modulo(2), j, i.modulo(8).divided(2)}) == Texts{"8*a+b+2*d", "c"});
}

TEST_CASE("linear equations are solved") {
  CHECK(solved({j.minus(i), i}) == Texts{"b", "a+b"});
  CHECK(solved({i.plus(j), i.minus(j)}) == Texts{"(a+b)/2", "(a-b)/2"});
  CHECK(solved({i.times(2), j.plus(i.divided(4))}) == Texts{"a/2", "b-a/8"});
  CHECK(solved({i.plus(j).divided(4), i.plus(j).modulo(4), j}) == Texts{"4*a+b-c", "c"});
}

TEST_CASE("what extents decide is used") {
  CHECK(solved({i.modulo(4), j}, 3) == Texts{"a", "b"});
  CHECK(solved({i.modulo(4), j}) == Texts{"", "b"});
}

TEST_CASE("what does not follow is not found") {
  CHECK(solved({i.divided(3), i.modulo(4), j}) == Texts{"", "c"});
  CHECK(solved({i.plus(j)}) == Texts{"", ""});
  CHECK(solved({}) == Texts{"", ""});
}

TEST_CASE("other expressions follow as well") {
  Elimination elimination({{0, 99}, {0, 99}});
  elimination.add(i.divided(4), Affine::variable(0));
  const std::vector<std::string> names = {"a"};
  CHECK(elimination.value_of(i.divided(8).plus(Affine::number(1)))->text(names) == "a/2+1");
  CHECK(elimination.value_of(i.divided(4).times(4))->text(names) == "4*a");
  CHECK_FALSE(elimination.value_of(i.divided(6)));
}

}  // namespace weft::elimination_test
