#include "runtime/distinct.h"

#include <doctest/doctest.h>

#include "runtime/sketch.h"
#include "unit/runtime/reference.h"
#include "unit/share.h"

namespace distinct_test {

using namespace weft;
using namespace weft::reference;

TEST_CASE("sketches estimate sets of any size") {
  std::uint64_t added = 0;
  Sketch sketch;
  CHECK(sketch.estimate() == 0);
  for (std::uint64_t size : {1u, 10u, 1000u, 20000u, 50000u, 200000u, 2000000u}) {
    for (; added < size; ++added) sketch.add(mixed(added));
    CHECK(sketch.estimate() == doctest::Approx(static_cast<double>(size)).epsilon(size < 1000 ? 0.01 : 0.025));
  }
  const double before = sketch.estimate();
  for (std::uint64_t n = 0; n < 1000; ++n) sketch.add(mixed(n));
  CHECK(sketch.estimate() == before);
}

TEST_CASE("a sketch of what several threads add is the union") {
  Sketch shared, alone;
  for (std::uint64_t n = 0; n < 30000; ++n) alone.add(mixed(n));
  Threads(4).for_each(4, [&](std::size_t part, unsigned) {
    const std::uint64_t from = part * 7000;
    for (std::uint64_t n = from; n < from + 9000; ++n) shared.add(mixed(n));
  });
  CHECK(shared.estimate() == alone.estimate());
}

TEST_CASE("estimates on grids, where hashes of modes are added, are as good as elsewhere") {
  List list{.extents = {3000, 100, 60000}, .tuples = {}, .values = {}};
  for (std::uint64_t i = 0; i < 300; ++i)
    for (std::uint64_t k = 0; k < 400; ++k) {
      list.tuples.push_back({i * 10, (i + k) % 100, k * 150});
      list.values.push_back(1);
    }
  auto tensor = build(coordinates(list), *parse_format("sss:1,0,2"), resources(), "T");
  REQUIRE(tensor);
  // Modes 0 and 2 are levels 1 and 2: 1.8e8 pairs are too many for a bitmap.
  const auto counts = distinct_counts(*tensor, {0b110, 0b010, 0b100}, Threads(2));
  CHECK_FALSE(counts.at(0b110).exact);
  CHECK(counts.at(0b110).value == doctest::Approx(120000).epsilon(0.03));
  CHECK(counts.at(0b010).exact);
  CHECK(counts.at(0b010).value == 300);
  CHECK(counts.at(0b100).value == 400);
}

TEST_CASE("sets that end in an interior dense level are counted through the sparse level below it") {
  Random random(4);
  List list{.extents = {50, 1u << 23, 4, 1000}, .tuples = {}, .values = {}};
  for (int n = 0; n < 6000; ++n) {
    // Few values of modes 1 and 2, each with many coordinates of mode 3.
    list.tuples.push_back({random.below(50), random.below(300) * 20011, random.below(4), random.below(1000)});
    list.values.push_back(1);
  }
  std::map<Tuple, int> pairs;
  for (const Tuple& tuple : list.tuples) pairs[{tuple[1], tuple[2]}] = 1;
  auto tensor = build(coordinates(list), *parse_format("ssds"), resources(), "T");
  REQUIRE(tensor);
  const auto counts = distinct_counts(*tensor, {0b0110, 0b0100}, Threads(2));
  CHECK_FALSE(counts.at(0b0110).exact);
  CHECK(counts.at(0b0110).value == doctest::Approx(static_cast<double>(pairs.size())).epsilon(0.03));
  CHECK(counts.at(0b0100).value == 4);
}

namespace {

// Of the entries' coordinates in these levels: the number of tuples, and what a sketch of them says that is filled one by one.
struct Recount {
  double tuples = 0, sketched = 0;
};
Recount recount(const Entries& entries, const Format& format, ModeSet levels) {
  std::map<Tuple, int> tuples;
  Sketch sketch;
  for (const auto& [tuple, value] : entries) {
    Tuple part;
    std::uint64_t sum = 0;
    for (std::size_t l = 0; l < format.order(); ++l) {
      if (!(levels >> l & 1)) continue;
      part.push_back(tuple[format.mode_order[l]]);
      sum += mixed(part.back() + (l + 1) * 0x9E3779B97F4A7C15);
    }
    tuples[part] = 1;
    sketch.add(mixed(sum));
  }
  return {static_cast<double>(tuples.size()), sketch.estimate()};
}

}  // namespace

TEST_CASE("all sets of levels, counted together and one by one, in every kind of tree, on one thread and on three") {
  Random random(7);
  // Long fibers and empty ones, more positions than a tile has, sets that fit a bitmap and such that do not.
  List list{.extents = {40, 1u << 23, 6, 1u << 21}, .tuples = {}, .values = {}};
  for (int n = 0; n < 40000; ++n) {
    const std::uint64_t i = random.below(40) * random.below(2);
    list.tuples.push_back({i, random.below(n % 3 == 0 ? 1u << 23 : 90), random.below(6), random.below(i == 0 ? 1u << 21 : 50)});
    list.values.push_back(1);
  }
  const Entries entries = summed(list);
  std::uint64_t number = 0;
  for (const std::string_view text :
       {"ssss", "ssss:3,1,2,0", "dsds:2,1,0,3", "ddss:0,2,1,3", "sdds:1,0,2,3", "uqqq", "suqq:2,0,1,3", "duqs:2,3,1,0", "suqd:1,0,3,2"}) {
    if (!test::is_drawn_sanitized(number++)) continue;
    INFO(text);
    auto tensor = build(coordinates(list), *parse_format(text), resources(), "T");
    REQUIRE(tensor);
    const Format& format = tensor->format();
    const std::size_t levels = format.levels.back().kind == LevelKind::dense ? 3 : 4;
    std::vector<ModeSet> sets;
    for (ModeSet set = 1; set < ModeSet{1} << levels; ++set) sets.push_back(set);
    const auto alone = distinct_counts(*tensor, sets, Threads(1));
    const auto shared = distinct_counts(*tensor, sets, Threads(3));
    std::size_t exact = 0;
    for (const ModeSet set : sets) {
      INFO("levels ", set);
      const Recount expected = recount(entries, format, set);
      exact += alone.at(set).exact;
      CHECK(alone.at(set).value == (alone.at(set).exact ? expected.tuples : expected.sketched));
      CHECK(shared.at(set).value == alone.at(set).value);
      CHECK(distinct_counts(*tensor, {set}, Threads(1)).at(set).value == alone.at(set).value);
    }
    CHECK(exact > 0);
    CHECK(exact < sets.size());
  }
}

TEST_CASE("sums of words are mixed and added as one by one, whatever can be left out") {
  Random random(3);
  std::vector<std::vector<std::uint64_t>> columns(5, std::vector<std::uint64_t>(Sketch::most_words));
  for (const std::size_t number : {1u, 2u, 3u, 5u}) {
    Sketch together, apart;
    for (unsigned round = 0; round < test::scaled(3000); ++round) {
      std::vector<const std::uint64_t*> taken;
      for (std::size_t column = 0; column < number; ++column) {
        for (std::uint64_t& word : columns[column]) word = random.below(~std::uint64_t{0});
        taken.push_back(columns[column].data());
      }
      const std::size_t length = round % 2 == 0 ? Sketch::most_words : random.below(Sketch::most_words + 1);
      for (std::size_t n = 0; n < length; ++n) {
        std::uint64_t sum = 0;
        for (std::size_t column = 0; column < number; ++column) sum += columns[column][n];
        apart.add(mixed(sum));
      }
      together.add_mixed_sums(taken, length, together.least());
      if (round % 100 == 0) REQUIRE(together.estimate() == apart.estimate());
    }
    CHECK(together.estimate() == apart.estimate());
    CHECK(together.least() > 0);
    CHECK(together.least() == apart.least());
  }
  std::vector<std::uint64_t> hashes(37);
  mix(std::span(columns[0]).first(37), 11, hashes.data());
  for (std::size_t n = 0; n < hashes.size(); ++n) CHECK(hashes[n] == mixed(columns[0][n] + 11));
}

TEST_CASE("prefixes of interior dense and chained levels") {
  const List list{.extents = {4, 5, 6},
                  .tuples = {{0, 1, 1}, {0, 1, 4}, {2, 0, 0}, {2, 3, 2}, {3, 2, 2}},
                  .values = {1, 2, 3, 4, 5}};
  for (std::string_view text : {"sss", "dss", "dds", "uqq", "uqs", "suq", "sds", "duq"}) {
    auto tensor = build(coordinates(list), *parse_format(text), resources(), "T");
    REQUIRE(tensor);
    INFO(text);
    CHECK(distinct_prefix(*tensor, 0, Threads(2)) == 3);
    CHECK(distinct_prefix(*tensor, 1, Threads(2)) == 4);
    CHECK(distinct_prefix(*tensor, 2, Threads(2)) == 5);
  }
}

TEST_CASE("estimates are moved within the bounds of exact figures, and no further") {
  // Two modes of extents 10 and 100; the estimate of mode 1 is too small for 500 pairs, that of mode 0 fits.
  std::vector<double> values{1, 9, 30, 500};
  make_consistent(values, {true, false, false, true}, {10, 100});
  CHECK(values == std::vector<double>{1, 9, 50, 500});
  values = {1, 3, 400, 500};  // 500 / 100 and the extent
  make_consistent(values, {true, false, false, true}, {10, 100});
  CHECK(values == std::vector<double>{1, 5, 100, 500});
  values = {1, 7, 80, 1};
  make_consistent(values, {true, false, false, false}, {10, 100});
  CHECK(values == std::vector<double>{1, 7, 80, 80});

  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    // Exact figures of a real pattern, everything else nonsense: the result must satisfy every bound.
    Random random(seed);
    const std::size_t order = 2 + random.below(4);
    List list = random.list(order, 60);
    const Entries entries = summed(list);
    if (entries.empty()) continue;
    std::vector<double> table(std::size_t{1} << order);
    std::vector<bool> exact(table.size(), false);
    for (ModeSet s = 0; s < table.size(); ++s) {
      std::map<Tuple, int> projected;
      for (const auto& [tuple, value] : entries) {
        Tuple part;
        for (std::size_t m = 0; m < order; ++m)
          if (s >> m & 1) part.push_back(tuple[m]);
        projected[part] = 1;
      }
      exact[s] = s == 0 || s + 1 == table.size() || random.chance(30);
      table[s] = exact[s] ? static_cast<double>(projected.size()) : static_cast<double>(1 + random.below(200));
    }
    const std::vector<double> before = table;
    make_consistent(table, exact, list.extents);
    INFO("seed ", seed);
    for (ModeSet s = 0; s < table.size(); ++s) {
      if (exact[s]) CHECK(table[s] == before[s]);
      for (std::size_t m = 0; m < order; ++m) {
        if (!(s >> m & 1)) continue;
        const double smaller = table[s & ~(ModeSet{1} << m)];
        CHECK(smaller <= table[s] * (1 + 1e-12));
        CHECK(table[s] <= smaller * static_cast<double>(list.extents[m]) * (1 + 1e-12));
      }
    }
  }
}

}  // namespace distinct_test
