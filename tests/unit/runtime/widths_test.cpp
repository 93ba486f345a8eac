#include "runtime/widths.h"

#include "runtime/extents.h"
#include "unit/runtime/reference.h"

namespace widths_test {

using namespace weft;
using namespace weft::reference;

namespace {

constexpr std::uint64_t limit = std::uint64_t{1} << 32;

Level level_over(std::uint64_t extent, LevelKind kind, std::uint64_t entries = 0) {
  Format format = sparse_format(1);
  format.levels[0].kind = kind;
  const std::vector<std::uint64_t> extents{extent};
  return with_widths(format, extents, entries).levels[0];
}

}  // namespace

TEST_CASE("coordinates have 64 bits above 2^32, and slots from there on") {
  CHECK(level_over(limit, LevelKind::compressed).crd_bits == 32);
  CHECK(level_over(limit + 1, LevelKind::compressed).crd_bits == 64);
  CHECK(level_over(limit + 1, LevelKind::singleton).crd_bits == 64);
  CHECK(level_over(limit + 1, LevelKind::accumulator).crd_bits == 64);
  CHECK(level_over(limit - 1, LevelKind::hashed).crd_bits == 32);
  CHECK(level_over(limit, LevelKind::hashed).crd_bits == 64);
  CHECK(level_over(saturated, LevelKind::hashed).crd_bits == 64);
  CHECK(level_over(limit + 1, LevelKind::dense) == Level{});
}

TEST_CASE("positions have 64 bits where there may be 2^32 entries, or as many slots") {
  CHECK(level_over(5, LevelKind::compressed, limit - 1).pos_bits == 32);
  CHECK(level_over(5, LevelKind::compressed, limit).pos_bits == 64);
  CHECK(level_over(5, LevelKind::hashed, limit / 3).pos_bits == 32);
  CHECK(level_over(5, LevelKind::hashed, limit / 3 + 1).pos_bits == 64);
  CHECK(level_over(5, LevelKind::singleton, limit).pos_bits == 32);
}

TEST_CASE("widths are those of the modes that the levels hold, and never less than asked for") {
  Format format = *parse_format("ss:1,0");
  format.levels[1].pos_bits = 64;
  format = with_widths(format, std::vector<std::uint64_t>{3, limit + 1});
  CHECK(format.levels[0].crd_bits == 64);
  CHECK(format.levels[1].crd_bits == 32);
  CHECK(format.levels[1].pos_bits == 64);
}

// With 2^62 positions the array of ends has 2^64 + 4 bytes: 4 bytes were allocated, and written beyond.
TEST_CASE("levels are not opened over more positions than can be allocated") {
  const List list{.extents = {std::uint64_t{1} << 62, 3}, .tuples = {{0, 1}, {1, 2}}, .values = {1, 2}};
  const auto tensor = build(coordinates(list), *parse_format("ss"), resources(), "T");
  REQUIRE(tensor);
  const auto opened = convert(*tensor, *parse_format("ds"), resources(), "T");
  REQUIRE(!opened);
  CHECK(opened.error().kind == ErrorKind::resource);
}

}  // namespace widths_test
