#include "runtime/sort_keys.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "unit/runtime/reference.h"

namespace sort_keys_test {

using namespace weft;
using namespace weft::reference;

namespace {

// Distinct keys in no order, and one more element that must stay.
template <class Key>
std::vector<Key> distinct_keys(Random& random, std::uint64_t count, std::uint64_t extent) {
  std::set<Key> chosen;
  while (chosen.size() < count) chosen.insert(static_cast<Key>(random.below(extent)));
  std::vector<Key> keys(chosen.begin(), chosen.end());
  for (std::size_t n = keys.size(); n > 1; --n) std::swap(keys[n - 1], keys[random.below(n)]);
  keys.push_back(Key{42});
  return keys;
}

template <class Key>
void check_sorted(std::uint64_t seed, std::uint64_t count, std::uint64_t extent, bool with_marks) {
  CAPTURE(seed);
  CAPTURE(count);
  CAPTURE(extent);
  CAPTURE(with_marks);
  Random random(seed);
  std::vector<Key> keys = distinct_keys<Key>(random, count, extent);
  std::vector<Key> expected = keys;
  std::sort(expected.begin(), expected.end() - 1);
  std::vector<std::uint8_t> marks(with_marks ? extent : 0, 0);
  for (std::uint64_t n = 0; with_marks && n < count; ++n) marks[keys[n]] = 1;
  std::vector<Key> scratch(count);
  sort_keys(keys.data(), scratch.data(), count, extent, with_marks ? marks.data() : nullptr);
  CHECK(keys == expected);
}

}  // namespace

TEST_CASE("lists of every length up to the longest network and some longer ones are sorted") {
  for (std::uint64_t count = 0; count <= longest_wide_sort + 3; ++count) {
    check_sorted<std::uint32_t>(count, count, 100'000, false);
    check_sorted<std::uint64_t>(count, count, 100'000, false);
  }
  for (const std::uint64_t count : {500, 1023, 1024, 5000}) {
    check_sorted<std::uint32_t>(count, count, 100'000, false);
    check_sorted<std::uint64_t>(count, count, 100'000, false);
  }
}

TEST_CASE("keys of every width are sorted, full ranges too") {
  for (std::uint64_t bits = 1; bits <= 32; ++bits)
    for (const std::uint64_t count : {2, 17, 300, 3000})
      if (count <= std::uint64_t{1} << (bits - 1)) {
        check_sorted<std::uint32_t>(bits, count, std::uint64_t{1} << bits, false);
        check_sorted<std::uint32_t>(bits, count, (std::uint64_t{1} << bits) - 1, false);
      }
  for (std::uint64_t bits = 13; bits < 64; ++bits) check_sorted<std::uint64_t>(bits, 1000, std::uint64_t{1} << bits, false);
  for (const std::uint64_t extent : {2, 3, 64, 700}) {
    check_sorted<std::uint32_t>(extent, extent, extent, false);
    check_sorted<std::uint64_t>(extent, extent, extent, true);
  }
}

TEST_CASE("lists that fill their extent are read from the marks") {
  for (const std::uint64_t extent : {2, 15, 16, 17, 63, 64, 65, 127, 129, 1000, 4099})
    for (const std::uint64_t share : {1, 2, 4, 7, 10, 20, 50, 70, 85, 300}) {
      check_sorted<std::uint32_t>(share, (extent + share - 1) / share, extent, true);
      check_sorted<std::uint64_t>(share, (extent + share - 1) / share, extent, true);
    }
}

TEST_CASE("marks of every value and density are listed, by bytes and by words, and nothing behind the last is written") {
  for (const std::uint64_t extent : {0, 1, 15, 16, 63, 64, 65, 128, 200, 1000, 4099})
    for (const std::uint64_t percent : {0, 1, 3, 10, 50, 97, 100}) {
      CAPTURE(extent);
      CAPTURE(percent);
      Random random(extent * 101 + percent);
      std::vector<std::uint8_t> marks;
      std::vector<std::uint32_t> expected;
      for (std::uint32_t column = 0; column < extent; ++column) {
        marks.push_back(random.chance(static_cast<unsigned>(percent)) ? static_cast<std::uint8_t>(1 + random.below(255)) : std::uint8_t{0});
        if (marks.back() != 0) expected.push_back(column);
      }
      const std::uint64_t count = expected.size();
      expected.push_back(7);
      const auto listed = [&](auto* list) {
        std::vector<std::uint32_t> keys(count + 1, 7);
        CHECK(list(marks.data(), extent, keys.data()) == count);
        CHECK(keys == expected);
      };
      listed(&list_marked);
      if (has_avx2_sort()) listed(&avx2_marked);
      if (has_wide_sort()) listed(&wide_marked_by_words);
      if (has_byte_compress()) listed(&wide_marked_by_bytes);
    }
}

namespace {

// With one more element in front and behind, which must stay.
template <class Key>
void check_in_vectors(void (*sort)(Key*, std::uint64_t), std::uint64_t longest) {
  for (std::uint64_t count = 0; count <= longest; ++count) {
    CAPTURE(count);
    Random random(count);
    std::vector<Key> keys = distinct_keys<Key>(random, count, count % 2 == 0 ? ~Key{0} : 400);
    keys.resize(count);
    std::vector<Key> ordered(count + 2, 7);
    std::ranges::copy(keys, ordered.begin() + 1);
    std::ranges::sort(keys);
    sort(ordered.data() + 1, count);
    CHECK(std::equal(keys.begin(), keys.end(), ordered.begin() + 1));
    CHECK(ordered.front() == 7);
    CHECK(ordered.back() == 7);
  }
}

}  // namespace

TEST_CASE("numbers are ordered in the vectors that there are, and nothing beside them is written") {
  if (has_avx2_sort()) {
    check_in_vectors<std::uint32_t>(&avx2_sort, longest_avx2_sort);
    check_in_vectors<std::uint64_t>(&avx2_sort, longest_long_avx2_sort);
  }
  if (has_wide_sort()) {
    check_in_vectors<std::uint32_t>(&wide_sort, longest_wide_sort);
    check_in_vectors<std::uint64_t>(&wide_sort, longest_wide_sort);
  }
  if (!has_wide_sort()) MESSAGE("skipped: no AVX-512");
  if (!has_avx2_sort()) MESSAGE("skipped: no AVX2");
}

}  // namespace sort_keys_test
