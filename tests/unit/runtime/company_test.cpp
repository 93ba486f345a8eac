// How many fibers hold more than one entry.
#include "runtime/company.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "unit/runtime/reference.h"
#include "weft/statistics.h"

namespace company_test {

using namespace weft;
using namespace weft::reference;

namespace {

/// `fibers` fibers along mode 2 below pairs of modes 0 and 1; every eighth has 9 entries, the others one.
List of_fibers(std::uint64_t fibers) {
  List list{.extents = {300, 400, 5000}, .tuples = {}, .values = {}};
  for (std::uint64_t n = 0; n < fibers; ++n) {
    for (std::uint64_t entry = 0; entry < (n % 8 == 0 ? 9 : 1); ++entry) {
      list.tuples.push_back({n / 400, n % 400, (n * 7919 + entry * 13) % 5000});
    }
  }
  list.values.assign(list.tuples.size(), 1);
  return list;
}

double recounted(const Entries& entries, ModeSet modes) {
  std::map<std::vector<std::uint64_t>, int> tuples;
  for (const auto& [tuple, value] : entries) {
    std::vector<std::uint64_t> fiber;
    for (std::size_t mode = 0; mode < tuple.size(); ++mode)
      if (modes >> mode & 1) fiber.push_back(tuple[mode]);
    ++tuples[fiber];
  }
  double several = 0;
  for (const auto& [tuple, count] : tuples) several += count > 1 ? 1 : 0;
  return several / static_cast<double>(tuples.size());
}

}  // namespace

TEST_CASE("all fibers of a small tensor are counted, in any order of the modes and of the levels") {
  const List list = of_fibers(1000);
  const Entries entries = summed(list);
  for (const std::string_view text : {"sss", "sss:2,0,1", "dss:1,0,2", "uqq", "duq:0,2,1", "dds:2,1,0", "sssd", "hss"}) {
    List given = list;
    if (text == "sssd") {  // a trailing dense level, of which each fiber has all
      given.extents.push_back(3);
      for (auto& tuple : given.tuples) tuple.push_back(1);
    }
    const auto tensor = build(coordinates(given), *parse_format(text), resources(), "T");
    REQUIRE(tensor);
    const Statistics one(*tensor, Threads(1));
    const Statistics two(*tensor, Threads(2));
    for (const ModeSet modes : {0b011U, 0b101U, 0b110U, 0b001U, 0b010U}) {
      CAPTURE(text);
      CAPTURE(modes);
      CHECK(one.share_with_company(modes) == recounted(entries, modes));
      CHECK(one.share_with_company(modes) == two.share_with_company(modes));
    }
  }
}

TEST_CASE("fibers of a large tensor are drawn with all of their entries") {
  const List list = of_fibers(100'000);
  const Entries entries = summed(list);
  const auto tensor = build(coordinates(list), *parse_format("sss"), resources(), "T");
  REQUIRE(tensor);
  const Statistics statistics(*tensor, Threads(2));
  CHECK(statistics.share_with_company(0b011) == doctest::Approx(0.125).epsilon(0.12));
  CHECK(statistics.share_with_company(0b101) == doctest::Approx(recounted(entries, 0b101)).epsilon(0.12));
  CHECK(statistics.share_with_company(0b110) == doctest::Approx(recounted(entries, 0b110)).epsilon(0.12));
}

TEST_CASE("one fiber with most entries of a large tensor is one") {
  List list{.extents = {100'000, 200'000}, .tuples = {}, .values = {}};
  for (std::uint64_t n = 0; n < 100'000; ++n) {
    list.tuples.push_back({7, n});
    list.tuples.push_back({n, 150'000});
  }
  list.values.assign(list.tuples.size(), 1);
  const auto tensor = build(coordinates(list), *parse_format("ss:1,0"), resources(), "T");
  REQUIRE(tensor);
  CHECK(Statistics(*tensor, Threads(1)).share_with_company(0b01) < 0.001);
}

TEST_CASE("given figures and trailing dense levels tell nothing, and an empty tensor has no fibers") {
  const auto blocks = build(coordinates(of_fibers(100)), *parse_format("ssd"), resources(), "T");
  REQUIRE(blocks);
  CHECK(Statistics(*blocks, Threads(1)).share_with_company(0b101) == 1);
  CHECK(Statistics(*blocks, Threads(1)).share_with_company(0b010) < 1);
  CHECK(Statistics({10, 10}, *parse_format("ss"), 20).share_with_company(0b01) == 1);
  const auto empty = build(coordinates(List{.extents = {3, 4}, .tuples = {}, .values = {}}), *parse_format("ss"), resources(), "T");
  REQUIRE(empty);
  CHECK(Statistics(*empty, Threads(1)).share_with_company(0b01) == 1);
}

}  // namespace company_test
