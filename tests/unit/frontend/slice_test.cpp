#include "frontend/slice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace weft::slice_test {
namespace {

/// The coordinates that a slice selects of one mode.
std::vector<std::uint64_t> selected(const char* text, std::uint64_t extent) {
  const auto slice = parse_slice(text);
  REQUIRE(slice);
  const auto modes = select(*slice, {extent}, "A");
  REQUIRE(modes);
  std::vector<std::uint64_t> coordinates;
  for (std::uint64_t place = 0; place < modes->front().count; ++place) {
    coordinates.push_back(modes->front().coordinate(place));
    CHECK(modes->front().place(coordinates.back()) == place);
  }
  for (std::uint64_t c = 0; c < extent; ++c) {
    const bool is_selected = std::ranges::find(coordinates, c) != coordinates.end();
    CHECK(modes->front().place(c).has_value() == is_selected);
  }
  return coordinates;
}

using Coordinates = std::vector<std::uint64_t>;

TEST_CASE("what a slice selects is what numpy selects") {
  CHECK(selected(":", 3) == Coordinates{0, 1, 2});
  CHECK(selected("1:", 3) == Coordinates{1, 2});
  CHECK(selected(":2", 3) == Coordinates{0, 1});
  CHECK(selected("-2:", 5) == Coordinates{3, 4});
  CHECK(selected(":-2", 5) == Coordinates{0, 1, 2});
  CHECK(selected("::2", 5) == Coordinates{0, 2, 4});
  CHECK(selected("1:100:3", 8) == Coordinates{1, 4, 7});
  CHECK(selected("::-1", 4) == Coordinates{3, 2, 1, 0});
  CHECK(selected("3:0:-2", 5) == Coordinates{3, 1});
  CHECK(selected("-1:-100:-2", 5) == Coordinates{4, 2, 0});
  CHECK(selected("100::-3", 5) == Coordinates{4, 1});
  CHECK(selected(":2:-1", 5) == Coordinates{4, 3});
  CHECK(selected("3:1", 5).empty());
  CHECK(selected("7:", 5).empty());
  CHECK(selected("-100:2", 5) == Coordinates{0, 1});
  CHECK(selected("2", 5) == Coordinates{2});
  CHECK(selected("-1", 5) == Coordinates{4});
  CHECK(selected(" 1 : 4 : 2 ", 5) == Coordinates{1, 3});
  CHECK(selected("::9223372036854775807", 5) == Coordinates{0});
  CHECK(selected("::-9223372036854775808", 5) == Coordinates{4});
  CHECK(selected(":", 0).empty());
  CHECK(selected("::-1", 0).empty());
}

TEST_CASE("every range over small extents, against the rule spelled out") {
  for (std::int64_t extent = 0; extent <= 4; ++extent) {
    for (std::int64_t start = -6; start <= 6; ++start) {
      for (std::int64_t stop = -6; stop <= 6; ++stop) {
        for (std::int64_t step = -3; step <= 3; ++step) {
          if (step == 0) continue;
          // Python's slice.indices(), in its own words.
          const auto clipped = [&](std::int64_t at) {
            if (at < 0) at += extent;
            return step > 0 ? std::clamp<std::int64_t>(at, 0, extent) : std::clamp<std::int64_t>(at, -1, extent - 1);
          };
          Coordinates wanted;
          for (std::int64_t at = clipped(start); step > 0 ? at < clipped(stop) : at > clipped(stop); at += step) {
            wanted.push_back(static_cast<std::uint64_t>(at));
          }
          const std::string text = std::to_string(start) + ':' + std::to_string(stop) + ':' + std::to_string(step);
          CAPTURE(text);
          CHECK(selected(text.c_str(), static_cast<std::uint64_t>(extent)) == wanted);
        }
      }
    }
  }
}

TEST_CASE("modes that are not given are whole, an ellipsis stands for them") {
  const std::vector<std::uint64_t> extents{5, 6, 7};
  const Selected whole{0, 1, 7, false};
  CHECK(select(*parse_slice("1"), extents, "A")->back() == whole);
  CHECK(select(*parse_slice("1, ..."), extents, "A")->back() == whole);
  const auto last = *select(*parse_slice("..., 1"), extents, "A");
  CHECK(last == std::vector<Selected>{{0, 1, 5, false}, {0, 1, 6, false}, {1, 1, 1, true}});
  CHECK(select(*parse_slice("1, ..., 2, 3"), extents, "A")->size() == 3);
  CHECK(select(*parse_slice("..."), {}, "s")->empty());
}

TEST_CASE("coordinates beyond 32 bits") {
  const std::uint64_t huge = ~std::uint64_t{0};
  const auto last = select(*parse_slice("-1"), {huge}, "A");
  CHECK(last->front().start == huge - 1);
  CHECK(select(*parse_slice(":"), {huge}, "A")->front().count == huge);
}

TEST_CASE("wrong slices say what is wrong") {
  for (const char* wrong : {"", "1,", ",", "a", "1 2", "::0", "1:2:3:4", "...,...", "1.5", "99999999999999999999"}) {
    CAPTURE(wrong);
    const auto slice = parse_slice(wrong);
    REQUIRE(!slice);
    CHECK(slice.error().kind == ErrorKind::input);
  }
  const auto outside = select(*parse_slice("0,6"), {5, 6}, "A");
  REQUIRE(!outside);
  CHECK(outside.error().message == "6 is out of range: mode 1 of A has extent 6");
  CHECK(!select(*parse_slice("-7"), {6}, "A"));
  CHECK(!select(*parse_slice("0"), {0}, "A"));
  CHECK(!select(*parse_slice("0,0"), {6}, "A"));
}

}  // namespace
}  // namespace weft::slice_test
