// Tensors with a layout: built, listed, converted, verified, cut; random layouts and random data.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "oracle/long_extents.h"
#include "oracle/random_layout.h"
#include "runtime/convert.h"
#include "runtime/gaps.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "unit/runtime/reference.h"
#include "unit/share.h"
#include "weft/entries.h"
#include "weft/host.h"
#include "weft/layout.h"
#include "weft/statistics.h"
#include "weft/tensor.h"

namespace layout_tensors_test {

using namespace weft;
using namespace weft::reference;
using weft::test::random_layout;

namespace {

Format format(std::string_view text) {
  const auto parsed = parse_format(text);
  REQUIRE_MESSAGE(parsed, (parsed ? "" : parsed.error().message));
  return *parsed;
}

Tensor built(const List& list, std::string_view text, Scalar scalar = Scalar::f64) {
  Format wanted = format(text);
  wanted.scalar = scalar;
  auto tensor = build(coordinates(list, scalar), wanted, resources(), "T");
  REQUIRE_MESSAGE(tensor, (tensor ? "" : tensor.error().message));
  return *tensor;
}

std::string refusal(const List& list, std::string_view text, ErrorKind kind = ErrorKind::input) {
  const auto tensor = build(coordinates(list), format(text), resources(), "T");
  REQUIRE_FALSE(tensor);
  CHECK(tensor.error().kind == kind);
  return tensor.error().message;
}

bool contains(const std::string& text, std::string_view part) {
  CAPTURE(text);
  CAPTURE(part);
  return text.find(part) != std::string::npos;
}

std::vector<std::uint64_t> numbers_of(const Buffer& buffer, unsigned bits) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t n = 0; n < buffer.size_bytes() / (bits / 8); ++n)
    all.push_back(bits == 8    ? buffer.as<const std::uint8_t>()[n]
                  : bits == 16 ? buffer.as<const std::uint16_t>()[n]
                               : element(buffer, bits, n));
  return all;
}
std::vector<std::uint64_t> pos(const Tensor& tensor, std::size_t level) {
  return numbers_of(tensor.levels()[level].pos, tensor.format().levels[level].pos_bits);
}
std::vector<std::uint64_t> crd(const Tensor& tensor, std::size_t level) {
  return numbers_of(tensor.levels()[level].crd, tensor.format().levels[level].crd_bits);
}
std::vector<double> values(const Tensor& tensor) {
  std::vector<double> all;
  for (std::uint64_t n = 0; n < tensor.nnz(); ++n) all.push_back(value(tensor.values(), tensor.format().scalar, n));
  return all;
}

using Numbers = std::vector<std::uint64_t>;
using Values = std::vector<double>;

List drawn(std::mt19937& random, const std::vector<std::uint64_t>& extents, std::size_t most) {
  List list{.extents = extents, .tuples = {}, .values = {}};
  if (std::ranges::find(extents, std::uint64_t{0}) != extents.end()) return list;
  const std::size_t count = random() % (most + 1);
  for (std::size_t n = 0; n < count; ++n) {
    Tuple tuple;
    for (const std::uint64_t extent : extents) tuple.push_back(random() % extent);
    list.tuples.push_back(std::move(tuple));
    list.values.push_back(static_cast<double>(random() % 9) + 1);
  }
  return list;
}

constexpr std::uint64_t memory_of_long = std::uint64_t{1} << 26;  // bytes: holds what is drawn, and nothing dense over a long extent

/// In the layout and back: the same pattern, the same values, valid on the way. Whether it came to that: what is dense over long extents
/// may be refused.
bool check_round_trip(const List& list, const std::string& text, Scalar scalar = Scalar::f64) {
  CAPTURE(text);
  const bool is_long = std::ranges::any_of(list.extents, test::is_long);
  Resources with = resources();
  if (is_long) with.memory = Memory(memory_of_long);
  Format listed = format(list.extents.size() == 2 && !is_long ? "ds" : std::string(list.extents.size(), 's'));
  listed.scalar = scalar;
  const auto plain = build(coordinates(list, scalar), listed, with, "T");
  REQUIRE_MESSAGE(plain, (plain ? "" : plain.error().message));
  Format wanted = format(text);
  wanted.scalar = scalar;
  const auto laid = convert(*plain, wanted, with, "T");
  if (!laid && is_long && laid.error().kind == ErrorKind::resource) return false;
  REQUIRE_MESSAGE(laid, (laid ? "" : laid.error().message));
  const auto valid = verify(*laid, with, "T");
  REQUIRE_MESSAGE(valid, (valid ? "" : valid.error().message));
  CHECK(laid->format().text() == wanted.text());
  CHECK(laid->extents() == list.extents);
  const auto listed_again = entries(*laid, false, with);
  REQUIRE_MESSAGE(listed_again, (listed_again ? "" : listed_again.error().message));
  CHECK(nonzeros(stored(*listed_again)) == nonzeros(summed(list)));
  const bool gaps = std::ranges::any_of(wanted.levels, [](const Level& level) { return has_gaps(level.kind); });
  CHECK((gaps || laid->nnz() * scalar_bytes(scalar) == laid->values().size_bytes()));
  const auto back = convert(*laid, plain->format(), with, "T");
  REQUIRE_MESSAGE(back, (back ? "" : back.error().message));
  CHECK(stored(*back) == summed(list));
  for (std::size_t n = 0; n < std::min<std::size_t>(list.tuples.size(), 3); ++n)
    CHECK(at(*laid, list.tuples[n]) == Element{summed(list).at(list.tuples[n]), true});
  return true;
}

/// Some extents become long, and half of the coordinates there go to the end.
List stretched(List list, std::mt19937& random) {
  for (std::size_t mode = 0; mode < list.extents.size(); ++mode) {
    const std::uint64_t extent = list.extents[mode];
    if (extent < 2 || random() % 3 == 0) continue;
    list.extents[mode] = test::long_extents[random() % test::long_extents.size()];
    for (Tuple& tuple : list.tuples)
      if (tuple[mode] >= extent / 2) tuple[mode] = list.extents[mode] - (extent - tuple[mode]);
  }
  return list;
}

}  // namespace

TEST_CASE("aligned blocks are stored whole, zeros beyond the extents among them") {
  const List list{.extents = {5, 4}, .tuples = {{0, 0}, {0, 1}, {1, 0}, {4, 3}}, .values = {1, 2, 3, 4}};
  const Tensor blocks = built(list, "bcsr(2,2)");
  CHECK(pos(blocks, 1) == Numbers{0, 1, 1, 2});
  CHECK(crd(blocks, 1) == Numbers{0, 1});
  CHECK(values(blocks) == Values{1, 2, 3, 0, 0, 4, 0, 0});
  CHECK(blocks.level_extents() == Numbers{3, 2, 2, 2});
  CHECK(blocks.padded());
  CHECK(blocks.nnz() == 8);
  CHECK(entries(blocks, false, resources())->count == 6);  // two of the last block's rows are none
  CHECK(blocks.summary() == "5x4 (i,j) -> (i/2:d, j/2:s, i%2:d, j%2:d) f64, 8 stored, 88 B");
  const Tensor rows = built(list, "bcsr(2,1)");
  CHECK(crd(rows, 1) == Numbers{0, 1, 3});
  CHECK(values(rows) == Values{1, 3, 2, 0, 4, 0});
}

TEST_CASE("diagonals, triangles and bands") {
  const List list{.extents = {3, 4}, .tuples = {{0, 0}, {1, 1}, {2, 2}, {2, 0}}, .values = {1, 2, 3, 4}};
  const Tensor diagonals = built(list, "dia");
  CHECK(crd(diagonals, 0) == Numbers{0, 2});
  CHECK(values(diagonals) == Values{0, 0, 4, 1, 2, 3});
  const Tensor lower = built(list, "lower");
  CHECK(pos(lower, 1) == Numbers{0, 1, 3, 6});
  CHECK(values(lower) == Values{1, 0, 2, 4, 0, 3});
  CHECK(lower.levels()[1].crd.size_bytes() == 0);
  CHECK(at(lower, {2, 0})->value == 4);
  CHECK_FALSE(at(lower, {0, 2})->stored);
  CHECK(at(lower, {2, 1}) == Element{0, true});
  CHECK(contains(refusal({.extents = {3, 4}, .tuples = {{1, 1}, {0, 2}}, .values = {1, 2}}, "lower"),
                 "(0,2) of T has no place in the layout (i,j) -> (i:d, j:d(..i+1)): level j:d(..i+1) has the values 0 to 0 there, not 2"));
  CHECK(built({.extents = {3, 4}, .tuples = {{1, 1}, {0, 2}}, .values = {1, 0.0}}, "lower").nnz() == 6);
  refusal({.extents = {3, 4}, .tuples = {{1, 1}, {0, 2}}, .values = {1, -0.0}}, "lower");
  refusal({.extents = {3, 4}, .tuples = {{0, 2}}, .values = {std::numeric_limits<double>::quiet_NaN()}}, "lower");
  const Tensor upper = built({.extents = {3, 4}, .tuples = {{0, 3}, {2, 2}}, .values = {1, 2}}, "upper");
  CHECK(pos(upper, 1) == Numbers{0, 4, 7, 9});
  CHECK(values(upper) == Values{0, 0, 0, 1, 0, 0, 0, 2, 0});
  const Tensor band = built({.extents = {3, 4}, .tuples = {{0, 1}, {1, 0}, {2, 2}}, .values = {1, 2, 3}}, "band(1,1)");
  CHECK(values(band) == Values{0, 0, 1, 2, 0, 0, 0, 3, 0});
  CHECK(contains(refusal({.extents = {3, 4}, .tuples = {{0, 2}}, .values = {1}}, "band(1,1)"), "has the values -1 to 1 there, not 2"));
}

TEST_CASE("starts are chosen, moved back where the extent ends") {
  const List list{.extents = {2, 7}, .tuples = {{0, 1}, {1, 3}, {0, 4}, {0, 6}}, .values = {1, 2, 3, 4}};
  const Tensor blocks = built(list, "bcsr(2,3,unaligned)");
  CHECK(pos(blocks, 1) == Numbers{0, 2});
  CHECK(crd(blocks, 1) == Numbers{1, 4});
  CHECK(values(blocks) == Values{1, 0, 0, 0, 0, 2, 3, 0, 4, 0, 0, 0});
  const Tensor runs = built({.extents = {2, 7}, .tuples = {{0, 1}, {0, 2}, {0, 4}, {1, 6}}, .values = {1, 2, 3, 4}}, "vbl");
  CHECK(crd(runs, 1) == Numbers{1, 4, 6});
  CHECK(pos(runs, 2) == Numbers{0, 2, 3, 4});
  CHECK(values(runs) == Values{1, 2, 3, 4});
  CHECK_FALSE(runs.padded());
  const Tensor sky = built({.extents = {3, 7}, .tuples = {{0, 1}, {0, 4}, {2, 6}}, .values = {1, 2, 3}}, "skyline");
  CHECK(crd(sky, 1) == Numbers{1, 0, 6});
  CHECK(pos(sky, 2) == Numbers{0, 4, 4, 5});
  CHECK(values(sky) == Values{1, 0, 0, 2, 3});
  CHECK(contains(refusal({.extents = {1, 7}, .tuples = {{0, 1}, {0, 5}}, .values = {1, 2}}, "(i,j) -> (i:d, b:q, j-b:d(3))"),
                 "(0,5) of T has no place in the layout (i,j) -> (i:d, b:q, j-b:d(3)): level j-b:d(3) has 3 values from its start on, "
                 "not 5"));
  CHECK(contains(refusal({.extents = {9, 7}, .tuples = {{0, 1}, {8, 0}, {3, 5}, {3, 2}}, .values = {1, 2, 3, 0}},
                         "(i,j) -> (i:d(..8), b:q, j-b:d(3))"),
                 "(8,0) of T has no place"));
  CHECK(contains(refusal({.extents = {9, 7}, .tuples = {{8, 0}, {3, 5}, {0, 1}, {3, 2}}, .values = {0, 3, 1, 2}},
                         "(i,j) -> (i:d(..8), b:q, j-b:d(3))"),
                 "(3,5) of T has no place"));
}

TEST_CASE("slots are numbered, and filled up at the least unused coordinates") {
  const List list{.extents = {3, 5}, .tuples = {{0, 3}, {0, 1}, {2, 0}}, .values = {1, 2, 3}};
  const Tensor ell = built(list, "ell");
  CHECK(ell.level_extents() == Numbers{3, 2, 5});
  CHECK(crd(ell, 2) == Numbers{1, 3, 0, 1, 0, 1});
  CHECK(values(ell) == Values{2, 1, 0, 0, 3, 0});
  const Tensor wide = built(list, "ell(3)");
  CHECK(crd(wide, 2) == Numbers{0, 1, 3, 0, 1, 2, 0, 1, 2});
  const Tensor slices = built(list, "sell(2)");
  CHECK(pos(slices, 1) == Numbers{0, 2, 3});
  CHECK(crd(slices, 3) == Numbers{1, 0, 3, 1, 0, 0});
  CHECK(values(slices) == Values{2, 0, 1, 0, 3, 0});
  // Slots of a row that there is not repeat those before: summed over rows they are no entries of their own.
  const Tensor uneven = built({.extents = {3, 5}, .tuples = {{0, 3}, {1, 1}, {2, 2}}, .values = {1, 2, 3}}, "sell(2)");
  CHECK(crd(uneven, 3) == Numbers{3, 1, 2, 2});
  CHECK(values(uneven) == Values{1, 2, 3, 0});
  CHECK(verify(uneven, Resources(), "uneven"));
  const Tensor some = built({.extents = {1, 6}, .tuples = {{0, 1}, {0, 3}, {0, 5}}, .values = {1, 2, 3}}, "nm(2,4)");
  CHECK(some.format().levels[3].crd_bits == 8);
  CHECK(crd(some, 3) == Numbers{1, 3, 0, 1});
  CHECK(contains(refusal(list, "ell(7)"), "level *:d(7) has 7 slots, but there are only 5 coordinates to stand in them; 5 fit"));
  CHECK(contains(refusal({.extents = {1, 8}, .tuples = {{0, 5}, {0, 4}, {0, 7}}, .values = {1, 2, 3}}, "nm(2,4)"),
                 "(0,7) of T has no place in the layout (i,j) -> (i:d, j/4:d, *:d(2), j%4:q<8>): level *:d(2) has 2 slots, and 2 are "
                 "stored before it"));
}

TEST_CASE("levels below the singletons of slots: an unused slot holds a zero at the first coordinates there") {
  const List matrix{.extents = {4, 5}, .tuples = {{0, 1}, {1, 4}, {3, 2}}, .values = {1, 2, 3}};
  const Tensor blocks = built(matrix, "(i,j) -> (i/2:d, *:v, j/2:q, i%2:d, j%2:d)");
  CHECK(pos(blocks, 1) == Numbers{0, 2, 3});
  CHECK(crd(blocks, 2) == Numbers{0, 2, 1});
  CHECK(values(blocks) == Values{0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0});
  const Tensor wide = built(matrix, "(i,j) -> (i/2:d, *:d, j/2:q, i%2:d, j%2:d)");
  CHECK(wide.level_extents() == Numbers{2, 2, 3, 2, 2});
  CHECK(crd(wide, 2) == Numbers{0, 2, 0, 1});
  CHECK(values(wide) == Values{0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0});
  const List cube{.extents = {2, 3, 4}, .tuples = {{0, 1, 2}, {1, 0, 1}, {0, 2, 0}, {0, 1, 3}}, .values = {1, 4, 3, 2}};
  const Tensor fibers = built(cube, "(i,j,k) -> (i:d, *:d, j:q, k:s)");
  CHECK(crd(fibers, 2) == Numbers{1, 2, 0, 1});
  CHECK(pos(fibers, 3) == Numbers{0, 2, 3, 4, 5});
  CHECK(crd(fibers, 3) == Numbers{2, 3, 0, 1, 0});
  CHECK(values(fibers) == Values{1, 2, 3, 4, 0});
  CHECK(fibers.padded());
  CHECK(stored(*convert(fibers, format("sss"), resources(), "T")) == stored(built(cube, "sss")));
  CHECK_FALSE(built(cube, "(i,j,k) -> (i:d, *:v, j:q, k:s)").padded());
  // Bounds may leave no room below an unused slot.
  const List below{.extents = {2, 3, 3}, .tuples = {{0, 1, 0}, {0, 2, 1}, {1, 2, 0}}, .values = {1, 2, 3}};
  const Tensor bounded = built(below, "(i,j,k) -> (i:d, *:d, j:q, k:d(..j))");
  CHECK(crd(bounded, 2) == Numbers{1, 2, 0, 2});
  CHECK(pos(bounded, 3) == Numbers{0, 1, 3, 3, 5});
  CHECK(values(bounded) == Values{1, 0, 2, 3, 0});
  // Where coordinates are stored below these, it stands where they leave room.
  const Tensor stored_below = built(below, "(i,j,k) -> (i:d, *:d, j:q, k/2:d(..j), k%2:s)");
  CHECK(crd(stored_below, 2) == Numbers{1, 2, 1, 2});
  CHECK(pos(stored_below, 3) == Numbers{0, 1, 3, 4, 6});
  CHECK(pos(stored_below, 4) == Numbers{0, 1, 2, 2, 3, 4, 4});
  CHECK(values(stored_below) == Values{1, 2, 0, 3});
  CHECK(verify(stored_below, resources(), "T"));
  CHECK(stored(*convert(stored_below, format("sss"), resources(), "T")) == stored(built(below, "sss")));
  CHECK(contains(refusal(below, "(i,j,k) -> (i:d, *:d(3), j:q, k/2:d(..j), k%2:s)"),
                 "bounds leave no room for what level *:d(3) has in an unused slot at (0,0,0)"));
  CHECK(contains(refusal(cube, "(i,j,k) -> (i:d, *:d(1), j:q, k:s)"),
                 "(0,2,0) of T has no place in the layout (i,j,k) -> (i:d, *:d(1), j:q, k:s): level *:d(1) has 1 slot, and one is stored "
                 "before it"));
}

TEST_CASE("bounds between slots and their singletons leave out groups") {
  const List list{.extents = {3, 3, 4}, .tuples = {{0, 0, 2}, {2, 0, 1}, {2, 0, 3}, {2, 2, 0}}, .values = {1, 2, 3, 4}};
  const Tensor triangle = built(list, "(i,j,k) -> (i:d, *:v, j:d(..i+1), k:q)");
  CHECK(pos(triangle, 1) == Numbers{0, 1, 1, 3});
  CHECK(pos(triangle, 2) == Numbers{0, 1, 4, 7});
  CHECK(crd(triangle, 3) == Numbers{2, 1, 0, 0, 3, 1, 1});
  CHECK(values(triangle) == Values{1, 2, 0, 4, 3, 0, 0});
  CHECK(stored(*convert(triangle, format("sss"), resources(), "T")) == stored(built(list, "sss")));
  const Tensor even = built(list, "(i,j,k) -> (i:d, *:d, j:d(..i+1), k:q)");
  CHECK(pos(even, 2) == Numbers{0, 1, 2, 4, 6, 9, 12});
  CHECK(crd(even, 3) == Numbers{0, 2, 0, 0, 1, 1, 1, 0, 0, 3, 1, 1});
  CHECK(values(even) == Values{0, 1, 0, 0, 0, 0, 2, 0, 4, 3, 0, 0});
}

TEST_CASE("slots below those of others: an unused one of the outer has unused ones alone") {
  const List cube{.extents = {2, 3, 4}, .tuples = {{0, 1, 2}, {1, 0, 1}, {0, 2, 0}, {0, 1, 3}}, .values = {1, 4, 3, 2}};
  const Tensor ragged = built(cube, "(i,j,k) -> (i:d, *:v, j:q, *:d(2), k:q)");
  CHECK(pos(ragged, 1) == Numbers{0, 2, 3});
  CHECK(crd(ragged, 2) == Numbers{1, 2, 0});
  CHECK(crd(ragged, 4) == Numbers{2, 3, 0, 1, 0, 1});
  CHECK(values(ragged) == Values{1, 2, 3, 0, 0, 4});
  const Tensor even = built(cube, "(i,j,k) -> (i:d, *:d, j:q, *:d, k:q)");
  CHECK(even.level_extents() == Numbers{2, 2, 3, 2, 4});
  CHECK(crd(even, 2) == Numbers{1, 2, 0, 1});
  CHECK(crd(even, 4) == Numbers{2, 3, 0, 1, 0, 1, 0, 1});
  CHECK(values(even) == Values{1, 2, 3, 0, 0, 4, 0, 0});
  CHECK(contains(refusal(cube, "(i,j,k) -> (i:d, *:d, j:q, *:d(1), k:q)"), "level *:d(1) has 1 slot, and one is stored before it"));
  // Lent by a host, the numbers of both follow from the coordinates.
  const std::vector<std::uint32_t> outer{1, 2, 0, 1}, inner{2, 3, 0, 1, 0, 1, 0, 1};
  const std::vector<double> lent{1, 2, 3, 0, 0, 4, 0, 0};
  const auto borrowed = borrow(even.format(), cube.extents, {{}, {}, {{}, outer}, {}, {{}, inner}}, lent);
  REQUIRE_MESSAGE(borrowed, (borrowed ? "" : borrowed.error().message));
  CHECK(borrowed->level_extents() == even.level_extents());
  CHECK(verify(*borrowed, resources(), "T"));
}

TEST_CASE("starts of two modes are chosen one after the other") {
  const List list{.extents = {5, 7}, .tuples = {{2, 5}, {1, 1}, {4, 6}, {2, 3}}, .values = {3, 1, 4, 2}};
  const Tensor blocks = built(list, "(i,j) -> (a:s, b:s, i-a:d(2), j-b:d(3))");
  CHECK(crd(blocks, 0) == Numbers{1, 3});
  CHECK(pos(blocks, 1) == Numbers{0, 2, 3});
  CHECK(crd(blocks, 1) == Numbers{1, 4, 4});
  CHECK(values(blocks) == Values{1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4});
  const Tensor rows = built(list, "(i,j) -> (a:s, i-a:v, b:q, j-b:v)");
  CHECK(crd(rows, 0) == Numbers{1, 4});
  CHECK(pos(rows, 1) == Numbers{0, 2, 3});
  CHECK(crd(rows, 2) == Numbers{1, 3, 6});
  CHECK(pos(rows, 3) == Numbers{0, 1, 4, 5});
  CHECK(values(rows) == Values{1, 2, 0, 3, 4});
  const List cube{.extents = {2, 3, 4}, .tuples = {{0, 1, 2}, {1, 0, 1}, {0, 2, 0}, {0, 1, 3}}, .values = {1, 4, 3, 2}};
  const Tensor below_slots = built(cube, "(i,j,k) -> (i:d, *:d, j:q, b:s, k-b:d(2))");
  CHECK(crd(below_slots, 2) == Numbers{1, 2, 0, 1});
  CHECK(crd(below_slots, 3) == Numbers{2, 0, 1, 0});
  CHECK(values(below_slots) == Values{1, 2, 3, 0, 4, 0, 0, 0});
}

TEST_CASE("coordinates of slots whose product is beyond 64 bits") {
  constexpr std::uint64_t extent = std::uint64_t{1} << 62;
  const List list{
      .extents = {2, extent, extent}, .tuples = {{0, extent - 1, 3}, {0, 0, extent - 1}, {1, extent - 3, 7}}, .values = {1, 2, 3}};
  for (const char* levels : {"*:v, j:q, k:q", "*:d, j:q, k:q", "*:v, k:q, j/3:q, j%3:q"})
    CHECK(check_round_trip(list, fmt::format("(i,j,k) -> (i:d, {})", levels)));
  CHECK(crd(built(list, "(i,j,k) -> (i:d, *:d, j:q, k:q)"), 3) == Numbers{extent - 1, 3, 0, 7});
  const List groups{.extents = {extent, extent, 5}, .tuples = {{7, extent - 1, 3}, {9, 0, 4}}, .values = {1, 2}};
  CHECK(contains(refusal(groups, "(i,j,k) -> (*:v, i:d, j:d, k:q)", ErrorKind::resource), "T needs 18446744073709551615 bytes"));
}

TEST_CASE("starts that fall, and in the order of the input") {
  const List list{.extents = {2, 9}, .tuples = {{0, 5}, {0, 0}, {1, 8}, {0, 6}}, .values = {1, 2, 3, 4}};
  const Tensor down = built(list, "(i,j) -> (i:d, b:s desc, j-b:d(2))");
  CHECK(crd(down, 1) == Numbers{5, 0, 7});
  CHECK(values(down) == Values{1, 4, 2, 0, 0, 3});
  const Tensor runs = built(list, "(i,j) -> (i:d, b:s desc, j-b:v)");
  CHECK(crd(runs, 1) == Numbers{5, 0, 8});
  CHECK(pos(runs, 2) == Numbers{0, 2, 3, 4});
  CHECK(values(runs) == Values{1, 4, 2, 3});
  CHECK(at(runs, {0, 6}) == Element{4, true});
  const std::vector<std::uint32_t> ends{0, 2, 3};
  const std::vector<double> lent{1, 4, 2, 0, 0, 3};
  const auto borrowed_in = [&](const char* order, const std::vector<std::uint32_t>& starts) {
    return borrow(format(std::string("(i,j) -> (i:d, b:s") + order + ", j-b:d(2))"), list.extents, {{}, {ends, starts}, {}}, lent);
  };
  const auto said = [&](const char* order, const std::vector<std::uint32_t>& starts) {
    const auto tensor = borrowed_in(order, starts);
    const auto valid = tensor ? verify(*tensor, resources(), "T") : Expected<void>(std::unexpected(tensor.error()));
    return valid ? std::string() : valid.error().message;
  };
  CHECK(said(" desc", {5, 0, 7}) == "");
  CHECK(said(" unordered", {0, 5, 7}) == "");
  CHECK(said(" unordered", {5, 0, 7}) == "");
  CHECK(said(" desc", {0, 5, 7}) != "");
  CHECK(contains(said(" unordered", {5, 4, 7}), "(0,5) stand at positions"));
}

TEST_CASE("narrow, descending and unordered coordinates") {
  const List list{.extents = {2, 5}, .tuples = {{0, 3}, {1, 4}, {0, 1}, {0, 4}, {0, 3}}, .values = {1, 2, 3, 4, 5}};
  const Tensor narrow = built(list, "(i,j) -> (i:d, j:s<16>)");
  CHECK(narrow.format().levels[1].crd_bits == 16);
  CHECK(crd(narrow, 1) == Numbers{1, 3, 4, 4});
  CHECK(values(narrow) == Values{3, 6, 4, 2});
  CHECK(built(list, "(i,j) -> (i:d, j:s<64>)").format().levels[1].crd_bits == 64);
  CHECK(built(list, "(i,j) -> (i:d, j:s<64> unordered)").format().levels[1].crd_bits == 64);
  const Tensor down = built(list, "(i,j) -> (i:d, j:s<8> desc)");
  CHECK(crd(down, 1) == Numbers{4, 3, 1, 4});
  CHECK(values(down) == Values{4, 6, 3, 2});
  const Tensor any = built(list, "(i,j) -> (i:d, j:s unordered)");
  CHECK(crd(any, 1) == Numbers{3, 1, 4, 4});
  CHECK(values(any) == Values{6, 3, 4, 2});
  CHECK(verify(any, resources(), "T"));
  CHECK(at(any, {0, 1})->value == 3);
}

TEST_CASE("arrays of the host whose bounds say where fibers end: packed triangles are lent by their values alone") {
  const auto simplex = "(i,j,k) -> (i:d, j:d(..i+1), k:d(..j+1))";
  const std::vector<std::pair<std::string, std::vector<std::uint64_t>>> packed{
      {"lower", {4, 4}}, {"lower", {3, 5}}, {"lower", {5, 3}}, {"upper", {4, 4}}, {"upper", {2, 5}}, {"upper", {5, 2}},
      {"lower", {0, 3}}, {"lower", {3, 0}}, {simplex, {3, 3, 3}}, {"(i,j) -> (i/2:d, i%2:d, j:d(..2*(i/2)+1))", {6, 6}}};
  for (const auto& [text, extents] : packed) {
    CAPTURE(text);
    CAPTURE(extents.front());
    CAPTURE(extents.back());
    const Tensor none = built({.extents = extents, .tuples = {}, .values = {}}, text);
    std::vector<double> values(none.nnz());
    for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n + 1);
    const Tensor owned = *same_pattern(none, values);
    const auto lent = borrow(format(text), extents, std::vector<HostLevel>(owned.levels().size()), values);
    REQUIRE_MESSAGE(lent, (lent ? "" : lent.error().message));
    CHECK(lent->values().data() == values.data());
    CHECK(verify(*lent, resources(), "T"));
    const Format plain = sparse_format(extents.size());
    CHECK(stored(*convert(*lent, plain, resources(), "T")) == stored(*convert(owned, plain, resources(), "T")));
  }
  const auto refused = [](std::string_view text, std::size_t levels, std::size_t count) {
    std::vector<double> values(count, 1);
    const auto lent = borrow(format(text), {3, 3}, std::vector<HostLevel>(levels), values);
    if (!lent) return lent.error().message;
    const auto valid = verify(*lent, resources(), "T");
    return valid ? std::string() : valid.error().message;
  };
  CHECK(refused("lower", 2, 6).empty());
  CHECK(contains(refused("lower", 2, 5), "level 1: pos is left out, and its bounds have more places than the 5 values"));
  CHECK_FALSE(refused("lower", 2, 7).empty());
  CHECK(contains(refused("(i,j) -> (i:s, j:d(..i+1))", 2, 6), "level 1: pos is left out, but follows from level 0, which is stored"));
}

TEST_CASE("arrays of the host: coordinates in any order are lent as they are, each once") {
  const std::vector<std::uint64_t> extents{4, 5};
  const std::vector<std::uint32_t> rows{3, 0, 3, 1, 0}, columns{1, 4, 0, 2, 0};
  std::vector<double> values{1, 2, 3, 0, 5};
  const Format unordered = format("coo(unordered)");
  CHECK(unordered.text() == "(i,j) -> (*:d, i:q unordered, j:q unordered)");
  const auto lent = borrow(unordered, extents, {{}, {{}, rows}, {{}, columns}}, values);
  REQUIRE_MESSAGE(lent, (lent ? "" : lent.error().message));
  CHECK(lent->values().data() == values.data());
  CHECK(lent->levels()[2].crd.data() == columns.data());
  CHECK(lent->nnz() == 5);
  CHECK(verify(*lent, resources(), "T"));
  CHECK(at(*lent, {3, 0})->value == 3);
  CHECK_FALSE(at(*lent, {2, 0})->stored);
  const Tensor ordered = built({.extents = extents, .tuples = {{0, 0}, {0, 4}, {1, 2}, {3, 0}, {3, 1}}, .values = {5, 2, 0, 3, 1}}, "ds");
  for (const std::string text : {"ds", "coo", "ss:1,0", "dd", "ell", "bcsr(2,2)", "coo(unordered)", "(i,j) -> (i:d, *:d, j:q unordered)"}) {
    CAPTURE(text);
    const auto converted = convert(*lent, format(text), resources(), "T");
    REQUIRE(converted);
    CHECK(verify(*converted, resources(), "T"));
    CHECK(stored(*convert(*converted, format("ss"), resources(), "T")) ==
          stored(*convert(*convert(ordered, format(text), resources(), "T"), format("ss"), resources(), "T")));
  }
  const auto refusal = [&](const std::vector<std::uint32_t>& i, const std::vector<std::uint32_t>& j) {
    const auto wrong = borrow(unordered, extents, {{}, {{}, i}, {{}, j}}, values);
    REQUIRE(wrong);
    const auto valid = verify(*wrong, resources(), "T");
    return valid ? std::string() : valid.error().message;
  };
  CHECK(contains(refusal({3, 0, 3, 1, 0}, {1, 4, 0, 2, 4}), "the coordinates (0,4) stand at positions 1 and 4"));
  CHECK(contains(refusal({4, 0, 3, 1, 0}, columns), "level 1: coordinate 4 at position 0 is not below the extent 4"));
  CHECK(contains(refusal(rows, {1, 2}), "level 2: crd has 8 bytes, but 5 elements of 32 bits are needed"));
  // Of three modes, and rows of slots.
  const std::vector<std::int64_t> first{1, 0}, second{0, 1}, third{2, 0};
  const std::vector<double> two{7, 8};
  const auto cube = borrow(format("(i,j,k) -> (*:d, i:q unordered, j:q unordered, k:q unordered)"), {2, 2, 3},
                           {{}, {{}, first}, {{}, second}, {{}, third}}, two);
  REQUIRE(cube);
  CHECK(at(*cube, {1, 0, 2})->value == 7);
  const std::vector<std::uint32_t> slots{4, 1, 0, 2};
  const std::vector<double> four{1, 2, 3, 4};
  const auto table = borrow(format("(i,j) -> (i:d, *:d, j:q unordered)"), {2, 5}, {{}, {}, {{}, slots}}, four);
  REQUIRE_MESSAGE(table, (table ? "" : table.error().message));
  CHECK(verify(*table, resources(), "T"));
  CHECK(at(*table, {0, 1})->value == 2);
}

TEST_CASE("arrays of the host with narrow coordinates, where the layout says so") {
  const std::vector<std::uint32_t> pos{0, 2, 3};
  const std::vector<std::uint8_t> crd{1, 4, 0};
  const std::vector<double> values{1, 2, 3};
  const auto lent = borrow(format("(i,j) -> (i:d, j:s<8>)"), {2, 5}, {{}, {pos, crd}}, values);
  REQUIRE(lent);
  CHECK(lent->levels()[1].crd.data() == crd.data());
  CHECK(verify(*lent, resources(), "T"));
  CHECK(stored(*convert(*lent, format("ds"), resources(), "T")) ==
        stored(built({.extents = {2, 5}, .tuples = {{0, 1}, {0, 4}, {1, 0}}, .values = values}, "ds")));
  const auto refused = [&](std::string_view text, std::uint64_t columns, const HostIndices& coordinates) {
    const auto wrong = borrow(format(text), {2, columns}, {{}, {pos, coordinates}}, values);
    return wrong ? std::string() : wrong.error().message;
  };
  const std::vector<std::int8_t> negative{1, -1, 0};
  const std::vector<std::uint16_t> wide{1, 4, 0};
  CHECK(contains(refused("(i,j) -> (i:d, j:s<8>)", 5, wide), "level 1: crd of 16 bits: the layout says 8"));
  CHECK(contains(refused("(i,j) -> (i:d, j:s<8>)", 5, pos), "level 1: crd of 32 bits: the layout says 8"));
  CHECK(contains(refused("ds", 5, crd), "level 1: crd of 8 bits: indices have 32 or 64"));
  CHECK(contains(refused("(i,j) -> (i:d, j:s<8>)", 200, negative), "crd of signed 8-bit integers, but the extent is 200"));
  CHECK_FALSE(verify(*borrow(format("(i,j) -> (i:d, j:s<8>)"), {2, 5}, {{}, {pos, negative}}, values), resources(), "T"));
  CHECK(borrow(format("(i,j) -> (i:d, j:s<16>)"), {2, 5}, {{}, {pos, wide}}, values));
}

TEST_CASE("layouts of all kinds keep pattern and values, whatever the extents") {
  std::mt19937 random(7);
  std::uint64_t number = 0;
  for (const std::vector<std::uint64_t>& extents : std::vector<std::vector<std::uint64_t>>{
           {9, 7}, {8, 8}, {1, 1}, {1, 6}, {5, 1}, {0, 4}, {3, 0}, {2, 3}, {12, 5}, {40, 33}}) {
    for (int round = 0; round < 6; ++round) {
      if (!test::is_drawn_sanitized(number++)) continue;
      const List list = drawn(random, extents, 4 + 20 * static_cast<std::size_t>(round));
      for (const std::string text : {"csr",
                                     "csc",
                                     "dcsr",
                                     "coo",
                                     "bcsr(4,4)",
                                     "bcsr(3,1)",
                                     "bcsr(2,3)",
                                     "bcsr(4,4,unaligned)",
                                     "bcsr(3,2,unaligned)",
                                     "bcsr(1,3,unaligned)",
                                     "dia",
                                     "ell",
                                     "sell(4)",
                                     "sell(1)",
                                     "nm(4,4)",
                                     "vbl",
                                     "skyline",
                                     "csb(4)",
                                     "(i,j) -> (i:d, j:s desc)",
                                     "(i,j) -> (i:s unordered, j:s unordered)",
                                     "(i,j) -> (j-i:s unordered, j:d)",
                                     "(i,j) -> (i/3:h, j/2:b, i%3:d, j%2:s)",
                                     "(i,j) -> (i:d, j:v)",
                                     "(i,j) -> (i+j:u<16>, j:q<8>)",
                                     "(i,j) -> (i/2:d, *:v, i%2:d, j/3:q, j%3:q<8>)",
                                     "(i,j) -> (i:d, j/3:d, *:d, j%3:q)",
                                     "(i,j) -> (*:d, i:q, j:q)",
                                     "(i,j) -> (i:s, *:v, j:q)",
                                     "(i,j) -> (j/4:s, b:s, j%4:d, i-b:v)",
                                     "(i,j) -> (b:s, i-b:d(2), j:s)",
                                     "(i,j) -> (i/4:d, b:s desc, i%4:d, j-b:d(4))",
                                     "(i,j) -> (i/4:s, b:s unordered, i%4:d, j-b:d(4))",
                                     "(i,j) -> (i:s desc, b:s desc, j-b:v)",
                                     "(i,j) -> (i:d, b:s<64> unordered, j-b:v)",
                                     "(i,j) -> (2*i+1:s, j-i/2:s)",
                                     "(i,j) -> (i:d, j/2:d(0..100), j%2:d)",
                                     "(i,j) -> (i:s, j:d(i-100..i+100))",
                                     "(i,j) -> (i/2:s, i%2:d, j/2:d(..i+200), j%2:d)"}) {
        if (text.starts_with("nm") && extents[1] < 4) continue;  // too few coordinates for its slots
        CAPTURE(round);
        check_round_trip(list, text, round % 2 ? Scalar::f32 : Scalar::f64);
      }
      List below = list;  // what a band and triangles hold
      for (Tuple& tuple : below.tuples) tuple[1] = std::min(tuple[0], tuple[1]);
      check_round_trip(below, "lower");
      check_round_trip(below, "(i,j) -> (i:s, j:d(..i+1))");
      check_round_trip(below, "(i,j) -> (j:s unordered, i:d(j..))");
      check_round_trip(below, "(i,j) -> (i/2:d, j/2:d(..i/2+1), i%2:d, j%2:d)");
      List above = list;
      for (Tuple& tuple : above.tuples)
        if (tuple[1] < tuple[0]) tuple[1] = std::min(tuple[0], extents[1] - 1), tuple[0] = std::min(tuple[0], tuple[1]);
      check_round_trip(above, "upper");
    }
  }
  for (int round = 0; round < 8; ++round) {
    check_round_trip(drawn(random, {6, 5, 7}, 60), "hicoo(2)");
    check_round_trip(drawn(random, {6, 5, 7}, 60), "(i,j,k) -> (i/2:d, k:s, j/3:s, i%2:d, j%3:d)");
    check_round_trip(drawn(random, {6, 5, 7}, 60), "(i,j,k) -> (i:d, j:s, b:s, k-b:v)");
    check_round_trip(drawn(random, {6, 5, 7}, 60), "(i,j,k) -> (i:d, b:s, k-b:v, j:s)");
    check_round_trip(drawn(random, {3, 4, 2, 5}, 60), "(i,j,k,l) -> (i/2:s, l:s, *:v, j/2:q, k:q, i%2:q, j%2:q)");
    check_round_trip(drawn(random, {23}, 20), "(i) -> (i/5:s, i%5:d)");
    for (const std::string text :
         {"(i,j,k) -> (i:d, *:d, j:q, k:d)", "(i,j,k) -> (i/2:d, *:v, i%2:d, j:q, k:s)", "(i,j,k) -> (*:d, j:q, i/2:s, k:u, i%2:q)",
          "(i,j,k) -> (i:d, *:v, j:q, *:v, k:q)", "(i,j,k) -> (i:s, *:d, j:q, *:v, k:q)",
          "(i,j,k) -> (i/2:d, *:d, i%2:d, j/2:q, *:d, j%2:d, k:q)",
          "(i,j,k) -> (i:d, *:v, j:q, k:v)", "(i,j,k) -> (i:d, *:v, j:q, b:s, k-b:v)", "(i,j,k) -> (i:d, b:s, *:v, k-b:d(3), j:q)",
          "(i,j,k) -> (i:d, *:v, j:d(i-100..i+100), k:q)", "(i,j,k) -> (i:d, *:d, j:q, k:d(j-100..j+100))",
          "(i,j,k) -> (i:d, *:d, j:q, k/2:d(j-100..j+100), k%2:s)", "(i,j,k) -> (i/2:d, *:v, j:q, i%2:d, k/3:d(j-100..), k%3:u)",
          "(i,j,k) -> (*:d, i:q, j/2:d(i-9..i+9), j%2:s, *:d, k:q)",
          "(i,j,k) -> (a:s, b:s, k:s, i-a:d(2), j-b:d(3))", "(i,j,k) -> (a:s, j:d, i-a:v, b:q, k-b:v)"})
      check_round_trip(drawn(random, {6, 5, 7}, 60), text);
  }
}

// A layout of narrow coordinates, or of sums, may have no numbers for those of long extents.
static bool is_of_short_extents(const std::string& refused) {
  return refused.find("beyond 2^63 - 1") != std::string::npos || refused.find(" bits do not hold") != std::string::npos;
}

TEST_CASE("random layouts of random data keep pattern and values") {
  std::size_t tried = 0;
  std::size_t long_ones = 0;
  std::size_t drawn_cases = 0;
  std::size_t below_slots = 0, slots_below_slots = 0, several_starts = 0;
  for (unsigned seed = 0; seed < 1200; ++seed) {
    if (!test::is_drawn_sanitized(seed)) continue;
    ++drawn_cases;
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::size_t order = 1 + seed / 3 % 3;  // of every third seed too, which sanitized builds draw
    std::vector<std::uint64_t> extents;
    for (std::size_t m = 0; m < order; ++m) extents.push_back(random() % 16 == 0 ? random() % 2 : 1 + random() % 9);
    const std::string text = random_layout(random, order);
    CAPTURE(text);
    const auto layout = parse_layout(text);
    if (!layout && layout.error().kind == ErrorKind::unsupported) continue;
    REQUIRE_MESSAGE(layout, (layout ? "" : layout.error().message));
    CHECK(layout->text() == parse_layout(layout->text())->text());
    List list = drawn(random, extents, 3 + seed % 40);
    if (seed % 5 == 4) list = stretched(std::move(list), random);
    const auto placement = Placement::of(*layout, list.extents, "T");
    if (!placement && seed % 5 == 4 && is_of_short_extents(placement.error().message)) continue;
    REQUIRE_MESSAGE(placement, (placement ? "" : placement.error().message));
    if (!placement->slots().empty()) {  // pads need as many coordinates as a group has slots, which its own entries are
      Resources with = resources();
      with.memory = Memory(memory_of_long);
      const auto tensor = build(coordinates(list), format(text), with, "T");
      if (!tensor && tensor.error().message.find("coordinates to stand in them") != std::string::npos) continue;
    }
    ++tried;
    const auto& slots = placement->slots();
    below_slots += !slots.empty() && slots.back().behind < layout->levels.size();
    slots_below_slots += slots.size() > 1;
    several_starts += placement->starts().size() > 1;
    if (check_round_trip(list, text)) long_ones += std::ranges::any_of(list.extents, test::is_long);
  }
  CHECK(tried * 4 > drawn_cases * 3);
  CHECK(long_ones * 40 > drawn_cases);
  MESSAGE(below_slots << " with levels below slots, " << slots_below_slots << " with two levels of slots, " << several_starts
                      << " with two free names");
  CHECK(below_slots * 30 > drawn_cases);
  CHECK(slots_below_slots * 100 > drawn_cases);
  CHECK(several_starts * 60 > drawn_cases);
}

TEST_CASE("from one layout to another") {
  std::mt19937 random(3);
  for (unsigned round = 0; round < 60; ++round) {
    const std::vector<std::uint64_t> extents = {1 + random() % 9, 1 + random() % 9};
    const List list = drawn(random, extents, 30);
    const std::vector<std::string> texts = {
        "bcsr(2,2)", "bcsr(3,2,unaligned)", "dia", "vbl", "skyline", "csb(4)", "ell", "(i,j) -> (j:s desc, i/2:s, i%2:d)"};
    const std::string& first = texts[random() % texts.size()];
    const std::string& second = texts[random() % texts.size()];
    CAPTURE(first);
    CAPTURE(second);
    const Tensor one = built(list, first);
    const auto two = convert(one, format(second), resources(), "T");
    REQUIRE(two);
    const Tensor wanted = built(list, second);
    CHECK(values(*two) == values(wanted));
    CHECK(two->format() == wanted.format());
    for (std::size_t l = 0; l < wanted.levels().size(); ++l) {
      CHECK(pos(*two, l) == pos(wanted, l));
      CHECK(crd(*two, l) == crd(wanted, l));
    }
  }
}

TEST_CASE("slices that rows become are those that are sorted, and become the same rows") {
  // Coordinates of 16 bits are not made of rows.
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    const std::uint64_t height = 2 + random() % 8;
    List list{.extents = {1 + random() % 40, 1 + random() % 30}, .tuples = {}, .values = {}};
    for (std::uint64_t n = random() % 200; n > 0; --n) {
      list.tuples.push_back({random() % list.extents[0] % (1 + random() % list.extents[0]), random() % list.extents[1]});
      list.values.push_back(static_cast<double>(random() % 4));
    }
    const bool turned = seed % 3 == 2;
    const std::string text = fmt::format("({}) -> (i/{}:d, *:v, i%{}:d, j:q", turned ? "j,i" : "i,j", height, height);
    const Tensor rows = built(list, "ds");
    const Scalar scalar = seed % 4 == 1 ? Scalar::f32 : Scalar::f64;
    const Format wanted = format(text + (scalar == Scalar::f32 ? "):f32" : ")"));
    for (const Tensor& made : {built(list, text + ")", scalar), *convert(rows, wanted, resources(3), "T")}) {
      const Tensor sorted = built(list, text + "<16>)", scalar);
      CHECK(verify(made, resources(), "T"));
      CHECK(made.level_extents() == sorted.level_extents());
      CHECK(made.padded() == sorted.padded());
      CHECK(pos(made, 1) == pos(sorted, 1));
      CHECK(crd(made, 3) == crd(sorted, 3));
      CHECK(values(made) == values(sorted));
      for (const std::string_view to : {"ds", "ds:1,0", "ss", "bcsr(2,3)", "sell(5)"}) {
        const Tensor one = *convert(made, format(to), resources(2), "T"), other = *convert(sorted, format(to), resources(), "T");
        CHECK(stored(*in_plain_format(one, resources(), "T")) == stored(*in_plain_format(other, resources(), "T")));
        CHECK(verify(one, resources(), "T"));
      }
    }
  }
}

TEST_CASE("the number of threads changes nothing") {
  std::uint64_t number = 0;
  std::mt19937 random(11);
  List list{.extents = {300, 500}, .tuples = {}, .values = {}};
  for (int n = 0; n < 40000; ++n) {
    list.tuples.push_back({random() % 300, random() % 500});
    list.values.push_back(static_cast<double>(random() % 5) + 1);
  }
  for (const std::string_view text : {"bcsr(4,4)", "bcsr(3,1)", "bcsr(4,4,unaligned)", "dia", "sell(8)", "csb(64)", "vbl",
                                      "(i,j) -> (i:d, j:s unordered)", "(i,j) -> (i/4:s, i%4:d, j:v)", "(i,j) -> (i:d, j:s<16> desc)"}) {
    if (!test::is_drawn_sanitized(number++)) continue;
    CAPTURE(text);
    const auto one = build(coordinates(list), format(text), resources(1), "T");
    const auto three = build(coordinates(list), format(text), resources(3), "T");
    REQUIRE(one);
    REQUIRE(three);
    CHECK(values(*one) == values(*three));
    for (std::size_t l = 0; l < one->levels().size(); ++l) {
      CHECK(pos(*one, l) == pos(*three, l));
      CHECK(crd(*one, l) == crd(*three, l));
    }
    CHECK(verify(*one, resources(3), "T"));
    CHECK(stored(*convert(*one, format("ds"), resources(3), "T")) == nonzeros(summed(list)));
  }
}

TEST_CASE("what a layout promises of its arrays is verified, with level and position") {
  const List list{.extents = {4, 6}, .tuples = {{0, 1}, {0, 3}, {1, 1}, {2, 5}, {3, 0}, {3, 4}}, .values = {1, 2, 3, 4, 5, 6}};
  const auto refused = [](const TensorArrays& arrays) {
    const auto verified = verify(Tensor(arrays), resources(), "T");
    REQUIRE_FALSE(verified);
    CHECK(verified.error().kind == ErrorKind::input);
    return verified.error().message;
  };
  const auto crd8 = [](std::vector<std::uint8_t> numbers) {
    auto buffer = Buffer::allocate(numbers.size(), Memory{}, "test");
    std::ranges::copy(numbers, buffer->as<std::uint8_t>().begin());
    return *buffer;
  };
  TensorArrays ell = built(list, "ell").arrays();
  CHECK(numbers_of(ell.levels[2].crd, 32) == Numbers{1, 3, 0, 1, 0, 5, 0, 4});
  ell.levels[2].crd = array({3, 1, 0, 1, 0, 5, 0, 4}, 32);
  CHECK(contains(refused(ell), "level 2 (j:q): the coordinate 1 at position 1 is not above that of the slot before, 3 at position 0"));
  ell.levels[2].crd = array({1, 6, 0, 1, 0, 5, 0, 4}, 32);
  CHECK(contains(refused(ell), "level 2: coordinate 6 at position 1 is not below the extent 6"));
  TensorArrays blocks = built({.extents = {4, 7}, .tuples = {{0, 1}, {0, 5}}, .values = {1, 2}}, "bcsr(2,3,unaligned)").arrays();
  CHECK(numbers_of(blocks.levels[1].crd, 32) == Numbers{1, 4});
  blocks.levels[1].crd = array({1, 3}, 32);
  CHECK(contains(refused(blocks), "level 1 (b:s): the coordinates (0,3) stand at positions 2 and 6"));
  const List cube{.extents = {2, 3, 4}, .tuples = {{0, 1, 2}, {1, 0, 1}, {0, 2, 0}, {0, 1, 3}}, .values = {1, 4, 3, 2}};
  TensorArrays fibers = built(cube, "(i,j,k) -> (i:d, *:d, j:q, k:s)").arrays();
  fibers.levels[2].crd = array({2, 1, 0, 1}, 32);
  CHECK(contains(refused(fibers), "level 2 (j:q): the coordinate 1 at position 1 is not above that of the slot before, 2 at position 0"));
  TensorArrays mixed = built(cube, "(i,j,k) -> (i:d, *:d, j:q unordered, k:s)").arrays();
  mixed.levels[2].crd = array({2, 1, 1, 0}, 32);
  CHECK(verify(Tensor(mixed), resources(), "T"));
  mixed.levels[2].crd = array({1, 1, 0, 1}, 32);
  CHECK(contains(refused(mixed), "level 2 (j:q unordered): the coordinate 1 stands in two slots, at positions 0 and 1"));
  TensorArrays inner = built(cube, "(i,j,k) -> (i:d, *:v, j:q, *:d(2), k:q)").arrays();
  inner.levels[4].crd = array({2, 3, 0, 0, 0, 1}, 32);
  CHECK(contains(refused(inner), "level 4 (k:q): the coordinate 0 at position 3 is not above that of the slot before, 0 at position 2"));
  const List corners{.extents = {5, 7}, .tuples = {{1, 1}, {4, 1}}, .values = {1, 2}};
  TensorArrays both = built(corners, "(i,j) -> (a:s, b:s, i-a:d(2), j-b:d(3))").arrays();
  both.levels[0].crd = array({2, 3}, 32);
  CHECK(contains(refused(both), "level 0 (a:s): the coordinates (3,1) stand at positions 3 and 6"));
  TensorArrays lower = built({.extents = {3, 3}, .tuples = {{2, 2}}, .values = {1}}, "lower").arrays();
  lower.levels[1].pos = array({0, 2, 3, 6}, 32);
  CHECK(contains(refused(lower), "level 1 (j:d(..i+1)): the fiber of position 0 has 2 values instead of 1"));
  TensorArrays padded = built({.extents = {3, 3}, .tuples = {{2, 2}}, .values = {1}}, "bcsr(2,2)").arrays();
  padded.values = numbers({1, 0, 5, 0}, Scalar::f64);
  CHECK(contains(refused(padded),
                 "level 3: position 2, at the level coordinates (1,1,1,0), is no coordinate of the tensor, but its value is not 0"));
  TensorArrays down = built(list, "(i,j) -> (i:d, j:s<8> desc)").arrays();
  down.levels[1].crd = crd8({1, 3, 1, 5, 4, 0});
  CHECK(contains(refused(down), "level 1: the entry at position 1 repeats or precedes the one before it"));
  TensorArrays any = built(list, "(i,j) -> (i:d, j:s unordered)").arrays();
  any.levels[1].crd = array({1, 1, 1, 5, 0, 4}, 32);
  CHECK(contains(refused(any), "level 1: the coordinate 1 stands twice in fiber 0"));
  TensorArrays runs = built(list, "vbl").arrays();
  runs.level_extents[0] = 3;
  CHECK(contains(refused(runs), "level 0 (i:d) has the extent 3 instead of 4"));
  TensorArrays cut = built(list, "bcsr(2,2)").arrays();
  cut.levels.pop_back();
  CHECK(contains(refused(cut), "3 level arrays and 4 level extents for a layout of 4 levels"));
}

TEST_CASE("tensors with a layout are cut, filtered, appended and counted as others are") {
  std::mt19937 random(5);
  const List list = drawn(random, {7, 9}, 40);
  const Tensor plain = built(list, "ds");
  for (const std::string_view text : {"bcsr(2,3)", "ell", "vbl", "dia"}) {
    const Tensor laid = built(list, text);
    const auto same = [&](const Expected<Tensor>& one, const Expected<Tensor>& other) {
      REQUIRE(one);
      REQUIRE(other);
      CHECK(one->format().layout != nullptr);
      CHECK(stored(*convert(*one, format("ds"), resources(), "T")) == stored(*convert(*other, format("ds"), resources(), "T")));
    };
    same(range(laid, 1, 2, 7, resources()), range(plain, 1, 2, 7, resources()));
    const VisitEntry keep = [](std::span<const std::uint64_t> at, double) { return at[0] != 3; };
    same(filter(laid, keep, resources()), filter(plain, keep, resources()));
    const std::vector<Tensor> twice = {laid, plain}, both = {plain, plain};
    same(append(twice, 0, resources()), append(both, 0, resources()));
    const auto parts = split(laid, 0, {2, 5}, resources());
    REQUIRE(parts);
    same((*parts)[1], (*split(plain, 0, {2, 5}, resources()))[1]);
    same(with_extents(laid, {8, 12}, resources(), "T"), with_extents(plain, {8, 12}, resources(), "T"));
    CHECK(statistics(laid, resources()).nnz() == static_cast<double>(plain.nnz()));
    CHECK(statistics(laid, resources()).distinct(1) == statistics(plain, resources()).distinct(1));
    std::size_t visited = 0;
    CHECK(for_each_entry(laid, [&](std::span<const std::uint64_t>, double) { return ++visited > 0; }, resources()));
    CHECK(visited >= plain.nnz());
  }
}

}  // namespace layout_tensors_test
