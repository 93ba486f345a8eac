// Places that are computed, and orders that are counted: array for array what sorting gives.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "runtime/build.h"
#include "runtime/computed_places.h"
#include "runtime/counted_order.h"
#include "unit/runtime/reference.h"
#include "unit/sanitized.h"
#include "weft/tensor.h"

namespace computed_places_test {

using namespace weft;
using namespace weft::reference;

namespace {

/// Distinct tuples with values that are seldom 0.
List distinct_entries(std::mt19937& random, const std::vector<std::uint64_t>& extents, std::uint64_t count, bool by_parents) {
  std::set<Tuple> tuples;
  for (; count > 0; --count) {
    Tuple tuple;
    for (const std::uint64_t extent : extents) tuple.push_back(random() % extent);
    tuples.insert(tuple);
  }
  List list{.extents = extents, .tuples = {tuples.begin(), tuples.end()}, .values = {}};
  std::ranges::shuffle(list.tuples, random);
  if (by_parents) std::ranges::sort(list.tuples, {}, [](const Tuple& tuple) { return tuple[0]; });
  for (std::size_t n = 0; n < list.tuples.size(); ++n) list.values.push_back(random() % 8 == 0 ? -0.0 : static_cast<double>(random() % 9));
  return list;
}

/// The entries with coordinates of a level that ascend where those of the list stand in the order.
List ranked(List list, std::size_t level, LevelOrder order) {
  std::map<Tuple, std::uint64_t> ranks;
  if (order == LevelOrder::ascending) return list;
  for (Tuple& tuple : list.tuples) {
    const Tuple prefix(tuple.begin(), tuple.begin() + static_cast<std::ptrdiff_t>(level) + 1);
    const std::uint64_t next = ranks.size();
    tuple[level] = order == LevelOrder::descending ? list.extents[level] - 1 - tuple[level] : ranks.emplace(prefix, next).first->second;
  }
  if (order == LevelOrder::unordered) list.extents[level] = list.tuples.size() + 1;
  return list;
}

Format format_of(std::size_t order, std::size_t compressed, Scalar scalar) {
  Format format;
  format.scalar = scalar;
  for (std::size_t l = 0; l < order; ++l) {
    format.levels.push_back({.kind = l == compressed ? LevelKind::compressed : LevelKind::dense});
    format.mode_order.push_back(static_cast<std::uint32_t>(l));
  }
  return format;
}

void check_places(unsigned draw, std::uint64_t most_entries, std::uint64_t most_extent) {
  CAPTURE(draw);
  std::mt19937 random(draw);
  const std::size_t order = random() % 3 + 1;
  const std::size_t level = random() % (order + 1);
  std::vector<std::uint64_t> extents;
  for (std::size_t l = 0; l < order; ++l) extents.push_back(random() % (l <= level ? most_extent : 6) + 1);
  const List list = distinct_entries(random, extents, random() % most_entries, level == 1 && random() % 4 != 0);
  const LevelOrder order_of_level = level < order ? static_cast<LevelOrder>(random() % 3) : LevelOrder::ascending;
  const Resources with = resources(random() % 2 != 0 ? 1 : 3);
  const Scalar scalar = random() % 2 != 0 ? Scalar::f64 : Scalar::f32;
  const Format format = format_of(order, level, random() % 2 != 0 ? Scalar::f64 : Scalar::f32);
  const auto found = in_computed_places(coordinates(list, scalar), format, order_of_level, with, "T");
  REQUIRE(found);
  if (!*found) return;
  const List to_sort = ranked(list, level, order_of_level);
  auto sorted = sorted_by(coordinates(to_sort, scalar), format.mode_order, {}, with, "T");
  REQUIRE(sorted);
  const auto wanted = assemble(std::move(*sorted), format, to_sort.extents, with, "T");
  REQUIRE(wanted);
  CHECK(same_bytes((*found)->values(), wanted->values()));
  if (level == order) return;
  CHECK(same_bytes((*found)->levels()[level].pos, wanted->levels()[level].pos));
  REQUIRE((*found)->positions(level) == wanted->positions(level));
  std::map<Tuple, std::uint64_t> coordinate_of;  // by the coordinates above and what is sorted
  for (std::size_t n = 0; n < list.tuples.size(); ++n) {
    const Tuple& sorted_as = to_sort.tuples[n];
    coordinate_of[Tuple(sorted_as.begin(), sorted_as.begin() + static_cast<std::ptrdiff_t>(level) + 1)] = list.tuples[n][level];
  }
  std::uint64_t position = 0;
  for (const auto& [prefix, coordinate] : coordinate_of)
    if (element((*found)->levels()[level].crd, (*found)->format().levels[level].crd_bits, position++) != coordinate)
      FAIL_CHECK("another coordinate at position " << position - 1);
}

}  // namespace

TEST_CASE("computed places hold what sorted ones do") {
  for (unsigned draw = 0; draw < test::scaled(2000); ++draw) check_places(draw, 200, draw % 2 != 0 ? 12 : 120);
  for (unsigned draw = 0; draw < test::scaled(6); ++draw) check_places(draw, 150000, 300);
}

TEST_CASE("counted orders are those that sorting gives") {
  for (unsigned draw = 0; draw < test::scaled(400); ++draw) {
    CAPTURE(draw);
    std::mt19937 random(draw);
    const bool large = draw % 40 == 0;
    List list{.extents = {random() % 30 + 1, random() % 30 + 1}, .tuples = {}, .values = {}};
    for (std::uint64_t n = large ? 120000 : random() % 300; n > 0; --n)
      list.tuples.push_back({random() % list.extents[0], random() % list.extents[1]});
    const auto column = [](const Tuple& tuple) { return tuple[1]; };
    if (draw % 4 != 0) std::ranges::sort(list.tuples, {}, column);
    const bool known = draw % 4 != 0 && random() % 2 != 0;
    if (!known && list.tuples.size() > 1 && random() % 3 == 0) std::swap(list.tuples.front(), list.tuples[random() % list.tuples.size()]);
    for (std::size_t n = 0; n < list.tuples.size(); ++n) list.values.push_back(static_cast<double>(n));
    List sorted = list;
    std::vector<std::size_t> places(list.tuples.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places, {}, [&](std::size_t n) { return std::pair(list.tuples[n][0], n); });
    for (std::size_t n = 0; n < places.size(); ++n) {
      sorted.tuples[n] = list.tuples[places[n]];
      sorted.values[n] = list.values[places[n]];
    }
    Coordinates given = coordinates(list);
    const auto found = in_counted_order(given, std::vector<std::uint32_t>{0, 1}, known, resources(random() % 2 != 0 ? 1 : 3), "T");
    REQUIRE(found);
    const bool in_order = std::ranges::is_sorted(sorted.tuples);
    if (!*found) {
      const bool wide = std::ranges::any_of(list.extents, [](std::uint64_t extent) { return coordinate_bits(extent) != 32; });
      CHECK((!in_order || wide || list.tuples.size() < 3 * list.extents[0]));
      CHECK(given.count == list.tuples.size());
      continue;
    }
    REQUIRE(in_order);
    const Coordinates wanted = coordinates(sorted);
    CHECK(same_bytes((*found)->crd[0], wanted.crd[0]));
    CHECK(same_bytes((*found)->crd[1], wanted.crd[1]));
    CHECK(same_bytes((*found)->values, wanted.values));
  }
}

}  // namespace computed_places_test
