// Slices as an entry sees them.
#include "runtime/slices.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "unit/runtime/reference.h"
#include "weft/statistics.h"

namespace slices_test {

using namespace weft;
using namespace weft::reference;

namespace {

/// 40,000 entries over 20,000 coordinates of mode 1 in one slice of mode 0, and as many in 2000 slices.
List skewed() {
  List list{.extents = {4000, 20'000, 30}, .tuples = {}, .values = {}};
  for (std::uint64_t n = 0; n < 40'000; ++n) {
    list.tuples.push_back({7, n / 2, n % 2});
    list.tuples.push_back({1000 + n / 20, (n * 7919) % 20'000, 5 + n % 20});
  }
  list.values.assign(list.tuples.size(), 1);
  return list;
}

double recounted_in_slices(const Entries& entries, std::size_t mode, std::size_t counted) {
  std::map<std::uint64_t, std::pair<double, std::set<std::uint64_t>>> slices;
  for (const auto& [tuple, value] : entries) {
    auto& [size, coordinates] = slices[tuple[mode]];
    size += 1;
    coordinates.insert(tuple[counted]);
  }
  double sum = 0;
  for (const auto& [coordinate, slice] : slices) sum += slice.first * static_cast<double>(slice.second.size());
  return sum / static_cast<double>(entries.size());
}

}  // namespace

TEST_CASE("distinct coordinates in the slice of an entry, in the mean over entries, wherever the two levels stand") {
  const List list = skewed();
  const Entries entries = summed(list);
  const double of_slices = recounted_in_slices(entries, 0, 1);
  CHECK(of_slices > 9000);
  for (const std::string_view text : {"sss", "sss:1,0,2", "sss:2,1,0", "dss:0,2,1", "uqq", "uqq:1,2,0", "dds:2,0,1"}) {
    const auto tensor = build(coordinates(list), *parse_format(text), resources(), "T");
    REQUIRE(tensor);
    const Statistics one(*tensor, Threads(1));
    const Statistics two(*tensor, Threads(2));
    // Half of the draws or so are in the heavy slice.
    CHECK(one.distinct_in_slices(0, 1) == doctest::Approx(of_slices).epsilon(0.25));
    CHECK(one.distinct_in_slices(0, 1) == two.distinct_in_slices(0, 1));
    // No slice of mode 1 is heavy: three or four entries of two or three slices.
    CHECK(one.distinct_in_slices(1, 0) == doctest::Approx(recounted_in_slices(entries, 1, 0)).epsilon(0.6));
    CHECK(one.distinct_in_slices(0, 1) * 40'000 / 42'000 > 100 * one.distinct(0b11) / one.distinct(0b01));
  }
}

TEST_CASE("nothing is counted of given figures, of trailing dense levels, and of nothing") {
  const List list = skewed();
  const auto blocks = build(coordinates(list), *parse_format("ssd"), resources(), "T");
  REQUIRE(blocks);
  CHECK(Statistics(*blocks, Threads(1)).distinct_in_slices(0, 2) == 0);
  CHECK(Statistics(*blocks, Threads(1)).distinct_in_slices(2, 0) == 0);
  CHECK(Statistics(*blocks, Threads(1)).distinct_in_slices(0, 1) > 0);
  CHECK(Statistics({10, 10}, *parse_format("ss"), 20).distinct_in_slices(0, 1) == 0);
  const auto empty = build(coordinates(List{.extents = {3, 4}, .tuples = {}, .values = {}}), *parse_format("ss"), resources(), "T");
  REQUIRE(empty);
  CHECK(Statistics(*empty, Threads(1)).distinct_in_slices(0, 1) == 0);
}

}  // namespace slices_test
