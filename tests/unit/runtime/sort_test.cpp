#include "runtime/sort.h"

#include <doctest/doctest.h>

#include "unit/runtime/reference.h"
#include "unit/sanitized.h"

namespace sort_test {

using namespace weft;
using namespace weft::reference;

namespace {

std::vector<std::uint64_t> permutation_of(const List& list, const std::vector<std::uint32_t>& modes,
                                          const std::vector<std::uint32_t>& already) {
  auto buffer = sorted_permutation(coordinates(list), modes, already, resources());
  REQUIRE(buffer);
  std::vector<std::uint64_t> result;
  for (std::uint64_t n = 0; n < list.tuples.size(); ++n) result.push_back(element(*buffer, 32, n));
  return result;
}

std::vector<std::uint64_t> expected_permutation(const List& list, const std::vector<std::uint32_t>& modes) {
  std::vector<std::uint64_t> result(list.tuples.size());
  std::iota(result.begin(), result.end(), std::uint64_t{0});
  std::sort(result.begin(), result.end(), [&](std::uint64_t a, std::uint64_t b) {
    for (std::uint32_t m : modes)
      if (list.tuples[a][m] != list.tuples[b][m]) return list.tuples[a][m] < list.tuples[b][m];
    return a < b;  // stability, spelled out
  });
  return result;
}

}  // namespace

TEST_CASE("sorting is stable and right for any widths, with and without known order") {
  for (std::uint64_t seed = 1; seed <= test::scaled(60); ++seed) {
    Random random(seed);
    List list;
    const std::size_t order = 1 + random.below(5);
    for (std::size_t m = 0; m < order; ++m) {
      const std::uint64_t choices[] = {1, 2, 7, 300, 1u << 20, 1ull << 32, 1ull << 33, ~0ull};
      list.extents.push_back(choices[random.below(8)]);
    }
    const std::uint64_t count = seed % 10 == 0 ? 50000 : random.below(50);
    for (std::uint64_t n = 0; n < count; ++n) {
      Tuple tuple;
      for (std::uint64_t extent : list.extents) {
        // Few distinct values far apart, so that neighbours tie and every part of a wide key matters.
        std::uint64_t c = random.chance(50) ? random.below(extent) : extent - 1 - random.below(std::min<std::uint64_t>(extent, 3));
        tuple.push_back(random.chance(30) ? 0 : c);
      }
      list.tuples.push_back(tuple);
      list.values.push_back(0);
    }
    std::vector<std::uint32_t> modes(order);
    std::iota(modes.begin(), modes.end(), 0u);
    std::vector<std::uint32_t> already = modes;
    std::shuffle(modes.begin(), modes.end(), std::mt19937_64(seed));
    std::shuffle(already.begin(), already.end(), std::mt19937_64(seed + 1000));
    INFO("seed ", seed);
    CHECK(permutation_of(list, modes, {}) == expected_permutation(list, modes));

    List ordered = list;
    const auto first = expected_permutation(list, already);
    for (std::size_t n = 0; n < first.size(); ++n) ordered.tuples[n] = list.tuples[first[n]];
    CHECK(ordered_by(coordinates(ordered), already, resources()));
    CHECK(permutation_of(ordered, modes, already) == expected_permutation(ordered, modes));
    const auto again = expected_permutation(ordered, modes);
    CHECK(ordered_by(coordinates(ordered), modes, resources()) == std::is_sorted(again.begin(), again.end()));
  }
}

TEST_CASE("one descent anywhere is noticed") {
  List list{.extents = {100000}, .tuples = {}, .values = {}};
  for (std::uint64_t n = 0; n < 50000; ++n) {
    list.tuples.push_back({n});
    list.values.push_back(0);
  }
  const std::vector<std::uint32_t> modes{0};
  CHECK(ordered_by(coordinates(list), modes, resources()));
  for (std::size_t at : {0u, 1u, 24999u, 25000u, 6250u, 49998u}) {
    List damaged = list;
    damaged.tuples[at] = {at + 2};
    CHECK_FALSE(ordered_by(coordinates(damaged), modes, resources()));
  }
}

}  // namespace sort_test
