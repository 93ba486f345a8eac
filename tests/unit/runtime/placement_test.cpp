#include "runtime/placement.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft::placement_test {
namespace {

using Extents = std::vector<std::uint64_t>;

Placement placed(std::string_view text, const Extents& extents) {
  const auto layout = parse_layout(text);
  REQUIRE_MESSAGE(layout, (layout ? "" : layout.error().message));
  auto placement = Placement::of(*layout, extents, "T");
  REQUIRE_MESSAGE(placement, (placement ? "" : placement.error().message));
  return std::move(*placement);
}

std::string refusal(std::string_view text, const Extents& extents) {
  const auto placement = Placement::of(*parse_layout(text), extents, "T");
  REQUIRE_FALSE(placement);
  CHECK(placement.error().kind == ErrorKind::input);
  return placement.error().message;
}

std::vector<Extents> box(const Extents& extents) {
  std::vector<Extents> all = {{}};
  for (const std::uint64_t extent : extents) {
    std::vector<Extents> longer;
    for (const Extents& begin : all)
      for (std::uint64_t c = 0; c < extent; ++c) {
        longer.push_back(begin);
        longer.back().push_back(c);
      }
    all = std::move(longer);
  }
  return all;
}

/// Every coordinate has the place from which it comes back, and no other one; what has none is outside of the layout's ranges.
std::size_t check_inverse(const Placement& placement) {
  std::map<Extents, Extents> back;
  Extents modes(placement.extents().size());
  for (const Extents& levels : box(placement.level_extents()))
    if (placement.coordinates(levels, modes)) CHECK(back.emplace(modes, levels).second);
  std::size_t places = 0;
  for (const Extents& coordinates : box(placement.extents())) {
    Extents levels(placement.levels().size());
    const bool has_place = placement.place(coordinates, levels);
    CHECK(has_place == (back.count(coordinates) == 1));
    if (has_place) CHECK(back.at(coordinates) == levels);
    if (placement.total()) CHECK(has_place);
    places += has_place;
  }
  return places;
}

}  // namespace

TEST_CASE("coordinates have the places that the expressions say, and come back from them") {
  for (const Extents& extents : {Extents{9, 7}, Extents{8, 8}, Extents{1, 1}, Extents{1, 6}, Extents{5, 1}, Extents{0, 4}, Extents{3, 0},
                                 Extents{2, 3}, Extents{12, 5}}) {
    const std::size_t all = extents[0] * extents[1];
    for (const std::string_view text :
         {"csr", "csc", "bcsr(4,4)", "bcsr(3,1)", "bcsr(2,3)", "dia", "csb(4)", "(i,j) -> (i+j:s, j:d)",
          "(i,j) -> ((i+j)/4:s, (i+j)%4:d, j:d)", "(i,j) -> (i/6:d, j:s, i/2%3:d, i%2:d)", "(i,j) -> (2*i+1:s, j-i/2:s)",
          "(i,j) -> (i+j:s, i-j:s)", "(i,j) -> (i%3:d, i/3:s, j%2:s, j/2:d)", "(i,j) -> (i+2*j:s, i+j:s)"}) {
      CAPTURE(text);
      CHECK(check_inverse(placed(text, extents)) == all);
    }
    std::size_t lower = 0, upper = 0, band = 0;
    for (std::uint64_t i = 0; i < extents[0]; ++i)
      for (std::uint64_t j = 0; j < extents[1]; ++j) {
        lower += j <= i;
        upper += j >= i;
        band += j + 1 >= i && j <= i + 2;
      }
    CHECK(check_inverse(placed("lower", extents)) == lower);
    CHECK(check_inverse(placed("upper", extents)) == upper);
    CHECK(check_inverse(placed("band(1,2)", extents)) == band);
    CHECK(check_inverse(placed("(i,j) -> (i:d, j:d(i-1..i+3))", extents)) == band);
    if (all > 0) CHECK(placed("lower", extents).total() == (extents[1] == 1));
    if (all > 0) CHECK(placed("upper", extents).total() == (extents[0] == 1));
  }
  CHECK(check_inverse(placed("hicoo(2)", {3, 5, 4})) == 60);
  CHECK(check_inverse(placed("(i) -> (i%5:d, i/5:d)", {23})) == 23);
}

TEST_CASE("coordinates count from the lower ends of the ranges") {
  const Placement diagonals = placed("dia", {3, 4});
  CHECK(diagonals.level_extents() == Extents{6, 3});
  CHECK(diagonals.levels()[0].range == ValueRange{-2, 3});
  CHECK(diagonals.inverse_text(0) == "i = c1");
  CHECK(diagonals.inverse_text(1) == "j = c0+c1-2");
  const Placement blocks = placed("bcsr(4,4)", {9, 7});
  CHECK(blocks.level_extents() == Extents{3, 2, 4, 4});
  CHECK(blocks.inverse_text(0) == "i = 4*c0+c2");
  CHECK(placed("bcsr(4,4)", {2, 7}).level_extents() == Extents{1, 2, 2, 4});
  CHECK(placed("lower", {3, 5}).level_extents() == Extents{3, 3});
  CHECK(placed("upper", {3, 5}).level_extents() == Extents{3, 5});
  CHECK(placed("bcsr(4,4,unaligned)", {9, 7}).level_extents() == Extents{3, 7, 4, 4});
  CHECK(placed("bcsr(4,4,unaligned)", {9, 3}).level_extents() == Extents{3, 3, 4, 3});
}

TEST_CASE("layouts that do not tell coordinates apart are refused, by example or with what is in the way") {
  CHECK(refusal("(i,j) -> (i/4:d, j/4:d, i%4:d)", {100, 200}) ==
        "layout (i,j) -> (i/4:d, j/4:d, i%4:d) of T does not tell coordinates apart: (0,0) and (0,1) share their levels");
  CHECK(refusal("(i,j) -> (i:d, *:d, j/2:q)", {4, 4}).find("(0,0) and (0,1) share their levels") != std::string::npos);
  CHECK(refusal("(i,j) -> (i/3:d, i%4:d, j:s)", {100, 200}) ==
        "layout (i,j) -> (i/3:d, i%4:d, j:s) of T: weft cannot invert (i/3, i%4); write i/3 with i%3");
  CHECK(refusal("bcsr(4,4)", {9, 7, 5}).find("has 2 modes, but the tensor has order 3") != std::string::npos);
  CHECK(refusal("dia", {INT64_MAX, INT64_MAX}).find("beyond 2^63 - 1") != std::string::npos);
  CHECK(refusal("(i,j) -> (i:d, j:s<8>)", {9, 257}).find("level j:s<8> has 257 coordinates, which 8 bits do not hold") !=
        std::string::npos);
}

TEST_CASE("only coordinates that have a place have to be told apart") {
  CHECK(check_inverse(placed("(i,j) -> (j:s, i%8:d(2..4))", {9, 2})) == 4);
  CHECK(check_inverse(placed("(i) -> ((i+1)/2:d(0..1))", {9})) == 1);
  CHECK(check_inverse(placed("(i) -> ((i+1)/2:d(7..9))", {9})) == 0);
  CHECK(refusal("(i) -> (i%8:d(6..8))", {15}).find("(6) and (14) share their levels") != std::string::npos);
  CHECK(refusal("(i) -> (i%4:d(1), i/3:d)", {15}).find("weft cannot invert (i%4, i/3)") != std::string::npos);
  std::size_t accepted = 0, refused = 0;
  for (const std::string_view pattern :
       {"(i,j) -> (j:s, i%4:d(LO..HI))", "(i,j) -> ((i+1)/2:d(LO..HI), j:d)", "(i,j) -> (j:d, (3-i)%5/2:d(LO..HI))",
        "(i,j) -> ((2*i+j)/3:d(LO..HI), j:s)", "(i,j) -> (i+j:d(LO..HI), j%3:s)", "(i,j) -> (j:d, (i+2)%6:d(j+LO..j+HI))",
        "(i,j) -> (i%3:d(LO..HI), i/2:d(0..2), (j-i)/2:d(LO..HI))"}) {
    for (const Extents& extents : {Extents{1, 1}, Extents{3, 2}, Extents{9, 2}, Extents{4, 5}, Extents{7, 7}}) {
      for (std::int64_t low = -2; low <= 4; ++low) {
        for (std::int64_t high = low; high <= 6; ++high) {
          std::string text(pattern);
          for (const auto& [word, number] :
               {std::pair("LO", std::to_string(low)), std::pair("HI", std::to_string(high)), std::pair("+-", std::string("-"))})
            while (text.find(word) != std::string::npos) text.replace(text.find(word), 2, number);
          CAPTURE(text);
          CAPTURE(extents[0]);
          const Layout layout = *parse_layout(text);
          std::size_t places = 0;
          std::set<std::vector<std::int64_t>> distinct;
          for (const Extents& coordinates : box(extents)) {
            const std::vector<std::int64_t> modes(coordinates.begin(), coordinates.end());
            std::vector<std::int64_t> values;
            bool within = true;
            for (const LayoutLevel& level : layout.levels) {
              values.push_back(level.value->at(modes));
              within = within && !(level.low && values.back() < level.low->at(modes));
              within = within && !(level.high && values.back() >= level.high->at(modes));
            }
            places += within;
            if (within) distinct.insert(values);
          }
          const auto placement = Placement::of(layout, extents, "T");
          if (placement) CHECK(check_inverse(*placement) == places);
          if (placement) CHECK(distinct.size() == places);
          if (!placement) CHECK((placement.error().message.find("share their levels") != std::string::npos) == (distinct.size() != places));
          ++(placement ? accepted : refused);
        }
      }
    }
  }
  CHECK(accepted > 500);
  CHECK(refused > 100);
}

TEST_CASE("some coordinates of long extents are told apart by them") {
  check_inverse(placed("(i,j) -> (i%4:d, j:s)", {4, 9}));
  CHECK(refusal("(i,j) -> (i%4:d, j:s)", {5, 9}).find("(0,0) and (4,0) share") != std::string::npos);
}

}  // namespace weft::placement_test
