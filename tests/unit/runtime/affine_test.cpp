#include "runtime/affine.h"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

namespace weft::affine_test {
namespace {

const std::vector<std::string> names = {"i", "j", "k"};
const Affine i = Affine::variable(0);
const Affine j = Affine::variable(1);

std::string text(const Affine& expression) { return expression.text(names); }

/// An expression with what it means, taken step by step.
struct Drawn {
  Affine expression;
  std::vector<std::int64_t> values;  ///< at all coordinates
};

const std::vector<std::vector<std::int64_t>>& coordinates() {
  static const auto all = [] {
    std::vector<std::vector<std::int64_t>> made;
    for (std::int64_t a = 0; a < 13; ++a)
      for (std::int64_t b = 0; b < 7; ++b)
        for (std::int64_t c = 0; c < 3; ++c) made.push_back({a, b, c});
    return made;
  }();
  return all;
}

Drawn draw(std::mt19937& random, int depth) {
  const auto number = [&](int below) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(below)); };
  Drawn made;
  if (depth == 0) {
    const auto variable = static_cast<std::uint32_t>(number(3));
    made.expression = Affine::variable(variable);
    for (const auto& at : coordinates()) made.values.push_back(at[variable]);
    return made;
  }
  made = draw(random, depth - 1);
  const std::int64_t n = number(6) + 1;
  switch (number(5)) {
    case 0:
      made.expression = made.expression.divided(n);
      for (auto& value : made.values) value = floor_quotient(value, n);
      break;
    case 1:
      made.expression = made.expression.modulo(n);
      for (auto& value : made.values) value = floor_remainder(value, n);
      break;
    case 2:
      made.expression = made.expression.times(n - 3);
      for (auto& value : made.values) value *= n - 3;
      break;
    case 3:
      made.expression = made.expression.plus(Affine::number(n - 3));
      for (auto& value : made.values) value += n - 3;
      break;
    default: {
      const Drawn other = draw(random, depth - 1);
      made.expression = made.expression.minus(other.expression);
      for (std::size_t at = 0; at < made.values.size(); ++at) made.values[at] -= other.values[at];
    }
  }
  return made;
}

}  // namespace

TEST_CASE("expressions have one form") {
  CHECK(text(i.divided(4)) == "i/4");
  CHECK(text(i.divided(2).divided(3)) == "i/6");
  CHECK(text(i.modulo(8).divided(4)) == "i/4%2");
  CHECK(text(i.modulo(8).modulo(4)) == "i%4");
  CHECK(text(i.modulo(4).modulo(8)) == "i%4");
  CHECK(text(i.modulo(6).modulo(4)) == "(i%6)%4");
  CHECK(text(i.modulo(4).divided(4)) == "0");
  CHECK(text(i.divided(4).times(4).plus(i.modulo(4))) == "i");
  CHECK(text(j.minus(i)) == "j-i");
  CHECK(text(i.times(2).plus(j).plus(Affine::number(-3))) == "2*i+j-3");
  CHECK(text(Affine::number(1).minus(i)) == "1-i");
  CHECK(text(i.plus(j).divided(4)) == "(i+j)/4");
  CHECK(text(i.times(4).plus(j).divided(4)) == "i+j/4");
  CHECK(text(i.times(4).plus(j).modulo(4)) == "j%4");
  CHECK(text(i.divided(3).times(2)) == "2*(i/3)");
  CHECK(i.plus(j) == j.plus(i));
  CHECK(i.minus(i) == Affine());
  CHECK_FALSE(i.times(INT64_MAX).times(2).fits());
}

TEST_CASE("expressions drawn at random have their values, one by one and many at once, within their ranges") {
  std::mt19937 random(1);
  const std::vector<ValueRange> within = {{0, 12}, {0, 6}, {0, 2}};
  std::vector<std::vector<std::int64_t>> columns(3);
  for (const auto& at : coordinates())
    for (std::size_t v = 0; v < 3; ++v) columns[v].push_back(at[v]);
  const std::vector<std::span<const std::int64_t>> given(columns.begin(), columns.end());
  for (int round = 0; round < 2000; ++round) {
    const Drawn drawn = draw(random, 1 + round % 5);
    CAPTURE(text(drawn.expression));
    std::vector<std::int64_t> many(coordinates().size());
    drawn.expression.at(given, many);
    CHECK(many == drawn.values);
    const auto range = drawn.expression.range(within);
    REQUIRE(range);
    bool right = true;
    for (std::size_t n = 0; n < many.size(); ++n) {
      right = right && drawn.expression.at(coordinates()[n]) == many[n] && range->least <= many[n] && many[n] <= range->most;
    }
    CHECK(right);
    // With variables in place of variables nothing changes.
    const std::vector<Affine> same = {i, j, Affine::variable(2)};
    std::vector<std::int64_t> again(coordinates().size());
    drawn.expression.substituted(same).at(given, again);
    CHECK(again == drawn.values);
  }
}

TEST_CASE("ranges that leave 64 bits are told") {
  const std::vector<ValueRange> wide = {{0, INT64_MAX - 1}, {0, INT64_MAX - 1}, {0, 0}};
  CHECK_FALSE(i.plus(j).range(wide));
  CHECK_FALSE(i.times(2).range(wide));
  CHECK(i.divided(4).range(wide) == ValueRange{0, (INT64_MAX - 1) / 4});
  CHECK(i.modulo(4).range(std::vector<ValueRange>{{5, 6}, {0, 0}, {0, 0}}) == ValueRange{1, 2});
}

}  // namespace weft::affine_test
