#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <limits>

#include "runtime/gaps.h"
#include "runtime/widths.h"
#include "unit/runtime/reference.h"
#include "weft/tensor.h"

namespace convert_test {

using namespace weft;
using namespace weft::reference;

namespace {

/// The tensor of a list in one format, and converted to another, which it must be in.
std::pair<Tensor, Tensor> built_and_converted(const List& list, const Format& from, const Format& to, const Resources& r) {
  auto tensor = build(coordinates(list), from, r, "T");
  REQUIRE(tensor);
  auto converted = convert(*tensor, to, r, "T");
  REQUIRE_MESSAGE(converted, (converted ? "" : converted.error().message));
  CHECK(converted->format() == to);
  auto verified = verify(*converted, r, "T");
  CHECK_MESSAGE(verified, (verified ? "" : verified.error().message));
  return {std::move(*tensor), std::move(*converted)};
}

}  // namespace

TEST_CASE("random conversions over long extents keep the entries") {
  std::size_t widened = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Random random(seed);
    const std::size_t order = 1 + random.below(5);
    const List list = random.stretched(random.short_list(order, 60));
    const Format from = random.format(list);
    const Format to = random.format(list);
    const Resources r = resources(random.chance(50) ? 1 : 2);
    INFO("seed ", seed, " from ", from.text(), " to ", to.text());
    const auto [tensor, converted] = built_and_converted(list, from, to, r);
    CHECK(nonzeros(stored(converted)) == nonzeros(summed(list)));
    widened += std::ranges::any_of(to.levels, [](const Level& level) { return level.crd_bits == 64; }) ? 1 : 0;
  }
  CHECK(widened > 300);
}

TEST_CASE("levels with a place for every coordinate of a long extent are refused before they are allocated, built and converted") {
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Random random(seed);
    const std::size_t order = 1 + random.below(5);
    const List list = random.stretched(random.short_list(order, 60));
    const Format dense = random.format(order);
    if (list.tuples.empty() || !is_dense_over_long(dense, list.extents)) continue;
    INFO("seed ", seed, " format ", dense.text());
    const auto tensor = build(coordinates(list), random.format(list), resources(), "T");
    REQUIRE(tensor);
    Resources limited = resources();
    limited.memory = Memory(two_to(27));
    for (const auto& made : {build(coordinates(list), dense, limited, "T"), convert(*tensor, dense, limited, "T")}) {
      REQUIRE_FALSE(made);
      CHECK(made.error().kind == ErrorKind::resource);
    }
    CHECK(limited.memory.peak() < two_to(20));
    CHECK(limited.memory.used() == 0);
    ++refused;
  }
  CHECK(refused > 150);
}

TEST_CASE("random conversions keep the entries") {
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    Random random(seed);
    const std::size_t order = random.below(6);
    const List list = random.list(order, 100);
    const Format from = random.format(list);
    Format to = random.format(list);
    if (random.chance(20)) {  // the same layout in other widths
      to.levels = from.levels;
      to.mode_order = from.mode_order;
      for (Level& level : to.levels)
        if (level.kind != LevelKind::bitmap) level.pos_bits = level.crd_bits = random.chance(50) ? 32 : 64;
      to = with_widths(std::move(to), list.extents, list.tuples.size());
    }
    const Resources r = resources(random.chance(50) ? 1 : 2);
    INFO("seed ", seed, " from ", from.text(), " to ", to.text());
    const auto [tensor, converted] = built_and_converted(list, from, to, r);
    // Zeros of dense levels at the end are not entries if such a level becomes another one; others are kept.
    const auto blocks = [](const Format& format) {
      std::set<std::uint32_t> modes;
      for (std::size_t l = format.order(); l > 0 && format.levels[l - 1].kind == LevelKind::dense; --l)
        modes.insert(format.mode_order[l - 1]);
      return modes;
    };
    const Entries kept =
        std::ranges::includes(blocks(to), blocks(from)) ? stored(tensor) : nonzeros(stored(tensor));
    if (from.mode_order == to.mode_order && without_gaps(from).text() == without_gaps(to).text())
      REQUIRE(stored(converted) == stored(tensor));
    else
      REQUIRE(stored(converted) == completed(kept, to, list.extents));
  }
}

TEST_CASE("identical formats share their arrays") {
  const List list{.extents = {4, 3}, .tuples = {{0, 1}, {3, 0}}, .values = {1, 2}};
  auto tensor = build(coordinates(list), sparse_format(2), resources(), "T");
  REQUIRE(tensor);
  auto same = convert(*tensor, sparse_format(2), resources(), "T");
  REQUIRE(same);
  CHECK(same->values().data() == tensor->values().data());
  Format wider = sparse_format(2);
  wider.levels[1].crd_bits = 64;
  auto widened = convert(*tensor, wider, resources(), "T");
  REQUIRE(widened);
  CHECK(widened->values().data() == tensor->values().data());
  CHECK(widened->levels()[0].crd.data() == tensor->levels()[0].crd.data());
  CHECK(widened->levels()[1].crd.size_bytes() == 16);
}

TEST_CASE("leading levels become dense in place") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const std::size_t order = 2 + random.below(4);
    const List list = random.short_list(order, 60);  // dense over any extent
    Format from = random.format(order);
    Format to = from;
    const std::size_t opened = 1 + random.below(order - 1);
    for (std::size_t level = 0; level < order; ++level) {
      from.levels[level] = to.levels[level] = Level{LevelKind::compressed};
      if (level < opened) to.levels[level] = Level{};
      if (level < opened && random.chance(30)) from.levels[level] = Level{};
      if (level > opened && random.chance(30)) from.levels[level] = to.levels[level] = Level{};
    }
    const Resources r = resources(random.chance(50) ? 1 : 2);
    INFO("seed ", seed, " from ", from.text(), " to ", to.text());
    const auto [tensor, converted] = built_and_converted(list, from, to, r);
    CHECK(stored(converted) == stored(tensor));
    CHECK(converted.values().data() == tensor.values().data());
  }
}

TEST_CASE("rows of a matrix become columns and rows again, by one part and by several") {
  const Resources alone = resources(1);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const std::uint64_t rows = 1 + random.below(300), columns = 1 + random.below(300);
    // Each part of a large one has entries of its own, or none: the first rows are empty now and then.
    const std::uint64_t entries = seed % 10 == 0 ? 60'000 : random.below(2000);
    const std::uint64_t first = random.chance(30) ? random.below(rows) : 0;
    Coordinates made;
    made.extents = {seed % 10 == 0 ? rows * 100 : rows, columns};
    made.count = entries;
    for (std::size_t mode = 0; mode < 2; ++mode) {
      auto crd = Buffer::allocate(entries * 4, alone.memory, "crd");
      REQUIRE(crd);
      for (std::uint32_t& coordinate : crd->as<std::uint32_t>())
        coordinate = static_cast<std::uint32_t>(mode == 0 ? first + random.below(made.extents[0] - first) : random.below(columns));
      made.crd.push_back(std::move(*crd));
    }
    auto values = Buffer::allocate(entries * 8, alone.memory, "values");
    REQUIRE(values);
    for (double& value : values->as<double>()) value = static_cast<double>(random.below(9)) - 4;
    made.values = std::move(*values);
    const Format by_rows = *parse_format(random.chance(50) ? "ds" : "ss"), by_columns = *parse_format("ds:1,0");
    const auto tensor = build(std::move(made), by_rows, alone, "T");
    REQUIRE(tensor);
    for (const unsigned threads : {1U, 3U}) {
      INFO("seed ", seed, " threads ", threads);
      const Resources r = resources(threads);
      const auto transposed = convert(*tensor, by_columns, r, "T");
      REQUIRE(transposed);
      CHECK(transposed->format() == by_columns);
      CHECK(verify(*transposed, r, "T"));
      const auto again = convert(*transposed, *parse_format("ds"), r, "T");
      REQUIRE(again);
      CHECK(verify(*again, r, "T"));
      const auto given = convert(*tensor, *parse_format("ds"), r, "T");
      REQUIRE(given);
      const auto same = [](const Buffer& a, const Buffer& b) {
        return std::ranges::equal(a.as<const std::byte>(), b.as<const std::byte>());
      };
      CHECK(same(again->levels()[1].pos, given->levels()[1].pos));
      CHECK(same(again->levels()[1].crd, given->levels()[1].crd));
      CHECK(same(again->values(), given->values()));
    }
  }
}

TEST_CASE("narrow indices are a request, not an order") {
  List list{.extents = {1ull << 40}, .tuples = {{1ull << 39}, {5}}, .values = {1, 2}};
  auto tensor = build(coordinates(list), sparse_format(1), resources(), "T");
  REQUIRE(tensor);
  CHECK(tensor->format().levels[0].crd_bits == 64);
  auto again = convert(*tensor, sparse_format(1), resources(), "T");
  REQUIRE(again);
  CHECK(again->format().levels[0].crd_bits == 64);
  CHECK(stored(*again) == summed(list));
}

TEST_CASE("a conversion that does not fit is refused") {
  const List list{.extents = {4, 3}, .tuples = {{0, 1}, {3, 0}}, .values = {1, 2}};
  auto tensor = build(coordinates(list), sparse_format(2), resources(), "T");
  REQUIRE(tensor);
  auto singleton = convert(*tensor, *parse_format("dq"), resources(), "T");
  REQUIRE_FALSE(singleton);
  CHECK(singleton.error().kind == ErrorKind::input);
  CHECK(convert(*tensor, *parse_format("h:0"), resources(), "T").error().kind == ErrorKind::input);
  Format below_gaps = *parse_format("ss");
  below_gaps.levels[0].kind = LevelKind::bitmap;
  below_gaps.levels[1].kind = LevelKind::singleton;
  CHECK(convert(*tensor, below_gaps, resources(), "T").error().message.find("hashed or bitmap") != std::string::npos);
  Resources limited = resources();
  limited.memory = Memory(10);
  CHECK(convert(*tensor, *parse_format("dd"), limited, "T").error().kind == ErrorKind::resource);
}

TEST_CASE("random changes of extents") {
  int grown = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 800; ++seed) {
    Random random(seed);
    const std::size_t order = random.below(5);
    const List list = random.list(order, 60);
    const Format format = random.format(list);
    auto tensor = build(coordinates(list), format, resources(), "T");
    REQUIRE(tensor);
    std::vector<std::uint64_t> extents = list.extents;
    for (std::uint64_t& extent : extents) {
      if (random.chance(50)) extent += random.below(4);
      if (random.chance(10)) extent -= std::min<std::uint64_t>(extent, 1);
    }
    INFO("seed ", seed, " format ", format.text());
    const bool dense_leaf = order > 0 && format.levels.back().kind == LevelKind::dense;
    const Entries kept = dense_leaf ? nonzeros(stored(*tensor)) : stored(*tensor);
    bool fits = true;
    for (const auto& [tuple, value] : kept)
      for (std::size_t m = 0; m < order; ++m) fits = fits && tuple[m] < extents[m];
    auto changed = with_extents(*tensor, extents, resources(), "T");
    if (!fits) {
      ++refused;
      REQUIRE_FALSE(changed);
      CHECK(changed.error().kind == ErrorKind::input);
      CHECK(changed.error().message.find("of T in mode ") != std::string::npos);
      continue;
    }
    ++grown;
    REQUIRE_MESSAGE(changed, (changed ? "" : changed.error().message));
    CHECK(changed->extents() == extents);
    CHECK(verify(*changed, resources(), "T"));
    CHECK(nonzeros(stored(*changed)) == nonzeros(stored(*tensor)));
    if (!dense_leaf) CHECK(stored(*changed) == stored(*tensor));
  }
  CHECK(grown > 100);
  CHECK(refused > 20);
}

TEST_CASE("larger sparse extents copy nothing, more rows only the pos array, more than 2^32 widen") {
  const List list{.extents = {4, 3}, .tuples = {{0, 1}, {3, 0}}, .values = {1, 2}};
  auto csf = build(coordinates(list), sparse_format(2), resources(), "T");
  REQUIRE(csf);
  auto larger = with_extents(*csf, {100, 100}, resources(), "T");
  REQUIRE(larger);
  CHECK(larger->levels()[0].crd.data() == csf->levels()[0].crd.data());
  CHECK(larger->values().data() == csf->values().data());

  auto csr = build(coordinates(list), *parse_format("ds"), resources(), "T");
  REQUIRE(csr);
  auto rows = with_extents(*csr, {100, 50}, resources(), "T");
  REQUIRE(rows);
  CHECK(verify(*rows, resources(), "T"));
  CHECK(rows->levels()[1].crd.data() == csr->levels()[1].crd.data());
  CHECK(rows->values().data() == csr->values().data());

  auto wide = with_extents(*csf, {100, 1ull << 33}, resources(), "T");
  REQUIRE(wide);
  CHECK(verify(*wide, resources(), "T"));
  CHECK(wide->format().levels[1].crd_bits == 64);
  CHECK(stored(*wide) == summed(list));

  CHECK(with_extents(*csf, {4}, resources(), "T").error().kind == ErrorKind::input);
}

}  // namespace convert_test
