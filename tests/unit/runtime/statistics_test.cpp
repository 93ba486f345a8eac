#include "weft/statistics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <thread>

#include "runtime/tensor_facts.h"
#include "unit/runtime/reference.h"
#include "weft/file.h"

namespace statistics_test {

using namespace weft;
using namespace weft::reference;

namespace {

double recounted(const Entries& entries, ModeSet modes) {
  std::set<Tuple, Earlier> projected;
  for (const auto& [tuple, value] : entries) {
    Tuple part;
    for (std::size_t m = 0; m < tuple.size(); ++m)
      if (modes >> m & 1) part.push_back(tuple[m]);
    projected.insert(part);
  }
  return static_cast<double>(projected.size());
}

FiberLengths recounted_fibers(const Entries& entries, const Format& format, std::size_t level) {
  std::map<Tuple, std::set<std::uint64_t>, Earlier> fibers;
  for (const auto& [tuple, value] : entries) {
    Tuple above;
    for (std::size_t l = 0; l < level; ++l) above.push_back(tuple[format.mode_order[l]]);
    fibers[above].insert(tuple[format.mode_order[level]]);
  }
  double sum = 0;
  double squares = 0;
  FiberLengths lengths;
  for (const auto& [above, below] : fibers) {
    const auto length = static_cast<double>(below.size());
    sum += length;
    squares += length * length;
    lengths.maximum = std::max<std::uint64_t>(lengths.maximum, below.size());
  }
  lengths.mean = sum / static_cast<double>(fibers.size());
  lengths.spread = std::sqrt(squares / static_cast<double>(fibers.size()) - lengths.mean * lengths.mean);
  return lengths;
}

void check_consistent(const Statistics& s) {
  const std::size_t order = s.extents().size();
  for (ModeSet set = 1; set < ModeSet{1} << order; ++set)
    for (std::size_t m = 0; m < order; ++m) {
      if (!(set >> m & 1)) continue;
      const double smaller = s.distinct(set & ~(ModeSet{1} << m));
      CHECK(smaller <= s.distinct(set) * (1 + 1e-12));
      CHECK(s.distinct(set) <= smaller * static_cast<double>(s.extents()[m]) * (1 + 1e-12));
      CHECK(s.distinct(set) <= s.nnz());
    }
}

List random_list(std::uint64_t seed, std::vector<std::uint64_t> extents, int count) {
  Random random(seed);
  List list{.extents = std::move(extents), .tuples = {}, .values = {}};
  for (int n = 0; n < count; ++n) {
    Tuple tuple;
    for (std::uint64_t extent : list.extents) tuple.push_back(random.below(1 + random.below(extent)));
    list.tuples.push_back(tuple);
    list.values.push_back(static_cast<double>(1 + random.below(5)));
  }
  return list;
}

}  // namespace

TEST_CASE("small tensors of every format: counts are exact, but for sketches over long extents") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const std::size_t order = random.below(6);
    const List list = random.list(order, 80);
    const Format format = random.format(list);
    INFO("seed ", seed, " format ", format.text());
    auto tensor = build(coordinates(list), format, resources(), "T");
    REQUIRE(tensor);
    const Entries entries = stored(*tensor);
    Statistics s(*tensor, Threads(random.chance(50) ? 1 : 2));
    CHECK(s.nnz() == static_cast<double>(entries.size()));
    CHECK(s.distinct(0) == (entries.empty() ? 0 : 1));
    const bool sketched = std::ranges::any_of(list.extents, is_long);
    for (ModeSet set = 1; set < ModeSet{1} << order; ++set) {
      const double counted = s.distinct(set), there = recounted(entries, set);
      REQUIRE((counted == there || (sketched && std::abs(counted - there) < 1.5)));
    }
    CHECK(s.finite());
  }
}

TEST_CASE("fiber lengths of trees and coordinate lists") {
  const List list = random_list(3, {30, 40, 50}, 2000);
  const Entries entries = summed(list);
  for (std::string_view text : {"sss", "sss:1,2,0", "uqq:2,0,1", "suq", "uqs"}) {
    const Format format = *parse_format(text);
    auto tensor = build(coordinates(list), format, resources(), "T");
    REQUIRE(tensor);
    Statistics s(*tensor, Threads(2));
    for (std::size_t l = 0; l < 3; ++l) {
      const FiberLengths expected = recounted_fibers(entries, format, l);
      CHECK(s.fibers(l).maximum == expected.maximum);
      CHECK(s.fibers(l).mean == doctest::Approx(expected.mean));
      CHECK(s.fibers(l).spread == doctest::Approx(expected.spread));
    }
  }
  const List rows{.extents = {4, 10}, .tuples = {{1, 2}, {1, 3}, {1, 9}, {3, 0}}, .values = {1, 1, 1, 1}};
  auto csr = build(coordinates(rows), *parse_format("ds"), resources(), "T");
  REQUIRE(csr);
  Statistics s(*csr, Threads(1));
  CHECK(s.fibers(0) == FiberLengths{.mean = 4, .maximum = 4, .spread = 0});
  CHECK(s.fibers(1).mean == 1);  // empty rows count
  CHECK(s.fibers(1).maximum == 3);
  CHECK(s.fibers(1).spread == std::sqrt(1.5));
  const List permutation{.extents = {2, 2}, .tuples = {{0, 1}, {1, 0}}, .values = {1, 1}};
  auto singleton = build(coordinates(permutation), *parse_format("dq"), resources(), "P");
  REQUIRE(singleton);
  CHECK(Statistics(*singleton, Threads(1)).fibers(1) == FiberLengths{.mean = 1, .maximum = 1, .spread = 0});
}

TEST_CASE("large extents: sketches are close, consistent and independent of the threads") {
  const List list = random_list(11, {1u << 20, 300, 1u << 22, 1ull << 40}, 20000);
  const Entries entries = summed(list);
  std::vector<double> expected;
  for (ModeSet set = 0; set < 16; ++set) expected.push_back(recounted(entries, set));
  for (std::string_view text : {"ssss", "ssss:2,3,1,0", "uqqq:1,0,3,2"}) {
    auto tensor = build(coordinates(list), *parse_format(text), resources(), "T");
    REQUIRE(tensor);
    Statistics one(*tensor, Threads(1));
    Statistics two(*tensor, Threads(2));
    for (ModeSet set = 1; set < 16; ++set) {
      CHECK(one.distinct(set) == doctest::Approx(expected[set]).epsilon(0.03));  // almost four standard errors
      CHECK(one.distinct(set) == two.distinct(set));
    }
    // Exact: prefixes of the stored order, and what fits a bitmap.
    ModeSet prefix = 0;
    for (std::uint32_t mode : tensor->format().mode_order) {
      prefix |= ModeSet{1} << mode;
      CHECK(one.distinct(prefix) == expected[prefix]);
    }
    for (ModeSet set : {1u, 2u, 4u}) CHECK(one.distinct(set) == expected[set]);
    check_consistent(one);
  }
}

TEST_CASE("more than six modes are counted set by set, in any order of asking") {
  const List list = random_list(5, {4000, 3, 5000, 2, 3000, 4, 6000, 5}, 20000);
  const Entries entries = summed(list);
  auto tensor = build(coordinates(list), sparse_format(8), resources(), "T");
  REQUIRE(tensor);
  Statistics s(*tensor, Threads(2));
  Statistics other(*tensor, Threads(1));
  const std::vector<ModeSet> sets{0b01010101, 0b10000001, 0b00000111, 0b11111110, 0b01000100, 0b11111111};
  for (ModeSet set : sets) CHECK(s.distinct(set) == doctest::Approx(recounted(entries, set)).epsilon(0.03));
  for (auto set = sets.rbegin(); set != sets.rend(); ++set) CHECK(other.distinct(*set) == s.distinct(*set));
}

TEST_CASE("dense and empty tensors") {
  auto dense = dense_zeros({3, 4, 5}, dense_format(3), resources(), "A");
  REQUIRE(dense);
  Statistics s(*dense, Threads(2));
  CHECK(s.distinct(0b101) == 15);
  CHECK(s.distinct(0b111) == 60);
  CHECK(s.fibers(1) == FiberLengths{.mean = 4, .maximum = 4, .spread = 0});
  auto none = build(coordinates({.extents = {3, 4}, .tuples = {}, .values = {}}), sparse_format(2), resources(), "E");
  REQUIRE(none);
  Statistics empty(*none, Threads(2));
  CHECK(empty.distinct(0) == 0);
  CHECK(empty.distinct(3) == 0);
  CHECK(empty.fibers(0) == FiberLengths{.mean = 0, .maximum = 0, .spread = 0});
  CHECK(empty.fibers(1) == FiberLengths{});
  CHECK(empty.finite());
}

TEST_CASE("NaN and infinity are noticed in both scalars") {
  for (Scalar scalar : {Scalar::f64, Scalar::f32})
    for (double bad : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
      List list = random_list(1, {1000, 1000}, 40000);
      Format format = sparse_format(2, scalar);
      CHECK(Statistics(*build(coordinates(list), format, resources(), "T"), Threads(2)).finite());
      list.values[39000] = bad;
      CHECK_FALSE(Statistics(*build(coordinates(list), format, resources(), "T"), Threads(2)).finite());
    }
}

TEST_CASE("given figures, and independence where none are given") {
  Statistics s({100, 200, 300}, sparse_format(3), 1000, {{0b001, 50}, {0b011, 700}}, false);
  CHECK(s.distinct(0b001) == 50);
  CHECK(s.distinct(0b011) == 700);
  CHECK(s.distinct(0b111) == 1000);
  CHECK_FALSE(s.finite());
  check_consistent(s);
  // Balls into bins: 1000 entries over 300 values of the last mode.
  CHECK(s.distinct(0b100) == doctest::Approx(300 * (1 - std::pow(1 - 1.0 / 300, 1000))).epsilon(0.01));
  CHECK(s.fibers(0).mean == 50);
  CHECK(s.fibers(1).mean == 14);
  CHECK(s.fibers(1).maximum == 14);

  Statistics full({10, 10}, sparse_format(2), 100);
  CHECK(full.distinct(1) == doctest::Approx(10));
  CHECK(full.distinct(3) == 100);
  Statistics dense({10, 20}, dense_format(2), 200);
  CHECK(dense.distinct(2) == 20);
  const std::uint64_t huge = 1ull << 62;
  Statistics vast(std::vector<std::uint64_t>(20, huge), sparse_format(20), 1e6);
  CHECK(vast.distinct(0b11) == doctest::Approx(1e6));
  CHECK(vast.distinct((1u << 20) - 1) == doctest::Approx(1e6));
}

TEST_CASE("a tensor keeps its statistics, its copies share them, changed copies do not") {
  const List list = random_list(2, {20, 20}, 100);
  auto tensor = build(coordinates(list), sparse_format(2), resources(), "T");
  REQUIRE(tensor);
  const Threads threads(2);
  std::vector<double> seen(4);
  std::vector<std::thread> askers;
  for (double& slot : seen) askers.emplace_back([&] { slot = statistics(*tensor, threads).distinct(2); });
  for (auto& asker : askers) asker.join();
  for (const double columns : seen) CHECK(columns == seen[0]);
  const auto kept = TensorParts::pattern_facts(*tensor)->counted(Scalar::f64);
  const Tensor copy = *tensor;
  CHECK(statistics(copy, threads).distinct(2) == seen[0]);
  CHECK(TensorParts::pattern_facts(copy)->counted(Scalar::f64) == kept);
  auto larger = with_extents(*tensor, {30, 30}, resources(), "T");
  REQUIRE(larger);
  CHECK(statistics(*larger, threads).extents()[0] == 30);
  auto narrow = convert(*tensor, *parse_format("ss:0,1:f32"), resources(), "T");
  REQUIRE(narrow);
  CHECK(statistics(*narrow, threads).format().scalar == Scalar::f32);
}

TEST_CASE("levels with gaps are counted in a charged copy; without memory for it nothing is claimed that does not hold") {
  // Two full rows of four and a row that is empty: independence expects some entry in each.
  List list{.extents = {4, 3, 500}, .tuples = {}, .values = {}};
  for (std::uint64_t row : {0u, 2u})
    for (std::uint64_t column = 0; column < 3; ++column)
      for (std::uint64_t n = 0; n < (row == 0 ? 500 : 100); ++n) {
        list.tuples.push_back({row, column, n});
        list.values.push_back(row == 2 && n == 7 ? std::numeric_limits<double>::infinity() : 1);
      }
  auto tensor = build(coordinates(list), *parse_format("hss"), resources(), "T");
  REQUIRE(tensor);
  const Resources plenty{Memory(), Threads(2), {}, {}};
  {
    const Statistics counted(*tensor, plenty);
    CHECK(plenty.memory.used() > 0);
    CHECK(counted.distinct(0b001) == 2);
    CHECK(counted.fibers(2).maximum == 500);
    CHECK_FALSE(counted.finite());
  }
  CHECK(plenty.memory.used() == 0);
  const Statistics uncounted(*tensor, Resources{Memory(0), Threads(2), {}, {}});
  CHECK(uncounted.distinct(0b001) < 4);
  CHECK(uncounted.distinct(0b001) > 1);
  CHECK(uncounted.distinct(0b011) < 12);
  CHECK(uncounted.fibers(1).maximum == 3);
  CHECK(uncounted.fibers(2).maximum == 500);
  CHECK_FALSE(uncounted.finite());
}

TEST_CASE("sets whose bitmaps do not fit into one pass are counted in several") {
  // Twenty sets of three modes of 256: a bitmap of 2 MB each.
  const List list = random_list(3, {256, 256, 256, 256, 256, 256}, 3000);
  auto tensor = build(coordinates(list), sparse_format(6), resources(), "T");
  REQUIRE(tensor);
  const Entries entries = summed(list);
  const Statistics counted(*tensor, Threads(2));
  for (ModeSet set : {0b111000u, 0b010101u, 0b001110u, 0b110000u, 0b100001u})
    CHECK(counted.distinct(set) == recounted(entries, set));
}

TEST_CASE("statistics: kept with a tensor they count on the threads of who asks, not of who asked first") {
  const auto tensor = generate_tensor("sparse(300x300x300,nnz=200000,seed=1)", {}, Resources(), "T");
  REQUIRE(tensor);
  std::atomic<unsigned> first_called{0}, second_called{0};
  const auto counting = [](std::atomic<unsigned>& called) {
    return Threads(2, [&called](unsigned slots, const std::function<void(unsigned)>& body) {
      ++called;
      for (unsigned slot = 0; slot < slots; ++slot) body(slot);
    });
  };
  (void)statistics(*tensor, counting(first_called)).nnz();
  const unsigned before = first_called;
  const Statistics known = statistics(*tensor, counting(second_called));
  CHECK(known.distinct(0b101) > 1);
  CHECK(known.fibers(2).maximum > 0);
  CHECK(known.finite());
  CHECK(first_called == before);
  CHECK(second_called > 0);
}

TEST_CASE("text has a line per fact") {
  const List list{.extents = {4, 10}, .tuples = {{1, 2}, {1, 3}, {1, 9}, {3, 0}}, .values = {1, 1, 1, 1}};
  auto tensor = build(coordinates(list), sparse_format(2), resources(), "T");
  REQUIRE(tensor);
  CHECK(Statistics(*tensor, Threads(1)).text() ==
        "nnz 4\n"
        "distinct(0) 2\n"
        "distinct(1) 4\n"
        "distinct(0,1) 4\n"
        "fibers of level 0: mean 2, maximum 2, spread 0\n"
        "fibers of level 1: mean 2, maximum 3, spread 1\n"
        "all values finite\n");
}

}  // namespace statistics_test
