// Rows merged into blocks, and blocks taken apart: array for array what sorting all entries gives.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <string>

#include "runtime/aligned_blocks.h"
#include "unit/runtime/reference.h"
#include "unit/sanitized.h"
#include "weft/layout.h"
#include "weft/tensor.h"

namespace aligned_blocks_test {

using namespace weft;
using namespace weft::reference;

namespace {

void check_equal(const Tensor& found, const Tensor& wanted) {
  CHECK(found.format() == wanted.format());
  CHECK(found.extents() == wanted.extents());
  CHECK(found.level_extents() == wanted.level_extents());
  CHECK(found.padded() == wanted.padded());
  CHECK(same_bytes(found.values(), wanted.values()));
  REQUIRE(found.levels().size() == wanted.levels().size());
  for (std::size_t l = 0; l < found.levels().size(); ++l) {
    CHECK(same_bytes(found.levels()[l].pos, wanted.levels()[l].pos));
    CHECK(same_bytes(found.levels()[l].crd, wanted.levels()[l].crd));
  }
}

/// In blocks of height by width, rows of either mode, remainders in either order.
std::string layout_text(std::mt19937& random) {
  const std::uint64_t height = random() % 5 + 1;
  const std::uint64_t width = random() % 4 + (height == 1 ? 2 : 1);
  const bool turned = random() % 2 != 0;
  const char row = turned ? 'j' : 'i';
  const char column = turned ? 'i' : 'j';
  const auto part = [](char mode, char with, std::uint64_t size) {
    return size == 1 ? std::string(1, mode) : fmt::format("{}{}{}", mode, with, size);
  };
  std::vector<std::string> remainders;
  if (height > 1) remainders.push_back(part(row, '%', height) + ":d");
  if (width > 1) remainders.push_back(part(column, '%', width) + ":d");
  if (random() % 2 != 0) std::ranges::reverse(remainders);
  return fmt::format("(i,j) -> ({}:d, {}:s, {})", part(row, '/', height), part(column, '/', width), fmt::join(remainders, ", "));
}

}  // namespace

TEST_CASE("which layouts are aligned blocks") {
  for (const std::string_view text : {"bcsr(4,4)", "bcsr(3,1)", "(i,j) -> (i:d, j/4:s, j%4:d)", "(i,j) -> (j/2:d, i/3:s, i%3:d, j%2:d)"})
    CHECK(aligned_blocks(*parse_format(text)->layout));
  for (const std::string_view text : {"dia", "ell", "csb(4)", "bcsr(4,4,unaligned)", "bcsr(32,2)", "(i,j) -> (i/4:s, j/4:s, i%4:d, j%4:d)",
                                      "(i,j) -> (i/4:d, j/4:s<16>, i%4:d, j%4:d)", "(i,j) -> (i/4:d, j/4:s desc, i%4:d, j%4:d)",
                                      "(i,j,k) -> (i/4:d, j:s, i%4:d, k:d)", "(i,j) -> (i/4:d, j:s, i%4/2:d, i%2:d)", "lower"})
    CHECK_FALSE(aligned_blocks(*parse_format(text)->layout));
}

TEST_CASE("random matrices in random blocks, array for array as sorted") {
  for (unsigned draw = 0; draw < test::scaled(600); ++draw) {
    std::mt19937 random(draw);
    CAPTURE(draw);
    const std::string text = layout_text(random);
    CAPTURE(text);
    List list{.extents = {random() % 20 + 1, random() % 20 + 1}, .tuples = {}, .values = {}};
    for (std::uint64_t n = random() % 150; n > 0; --n) {
      list.tuples.push_back({random() % list.extents[0], random() % list.extents[1]});
      const std::uint64_t value = random() % 6;
      list.values.push_back(value == 0 ? -0.0 : static_cast<double>(value) - 1);
    }
    const Scalar scalar = random() % 2 != 0 ? Scalar::f64 : Scalar::f32;
    const Resources with = resources(random() % 2 != 0 ? 1 : 3);
    Format format = *parse_format(text);
    format.scalar = random() % 2 != 0 ? Scalar::f64 : Scalar::f32;
    if (random() % 4 == 0) format.levels[1].crd_bits = 64;
    if (random() % 4 == 0) format.levels[1].pos_bits = 64;
    const auto wanted = build_with_layout(coordinates(list, scalar), false, format, with, "T");
    REQUIRE(wanted);
    const auto merged = build(coordinates(list, scalar), format, with, "T");
    REQUIRE(merged);
    check_equal(*merged, *wanted);
    const auto plain = build(coordinates(list, scalar), *parse_format(random() % 2 != 0 ? "ds" : "ss:1,0"), with, "T");
    REQUIRE(plain);
    const auto converted = convert(*plain, format, with, "T");
    REQUIRE(converted);
    check_equal(*converted, *wanted);
    const Zeros zeros = merged->padded() ? Zeros::without_sign_left_out : Zeros::kept;
    auto listed = entries_with_layout(*merged, zeros, with);
    REQUIRE(listed);
    const Format back = *parse_format(random() % 2 != 0 ? "ds" : "sd:1,0");
    const auto sorted = build(std::move(*listed), back, with, "T");
    const auto taken = convert(*merged, back, with, "T");
    REQUIRE(sorted);
    REQUIRE(taken);
    check_equal(*taken, *sorted);
  }
}

TEST_CASE("rows in many chunks") {
  std::mt19937 random(3);
  List list{.extents = {9001, 50}, .tuples = {}, .values = {}};
  for (int n = 0; n < 60000; ++n) {
    list.tuples.push_back({random() % 9001, random() % 50});
    list.values.push_back(static_cast<double>(random() % 5) + 1);
  }
  for (const std::string_view text : {"bcsr(2,3)", "bcsr(3,1)", "(i,j) -> (i:d, j/4:s, j%4:d)"}) {
    const Format format = *parse_format(text);
    const auto wanted = build_with_layout(coordinates(list), false, format, resources(1), "T");
    const auto merged = build(coordinates(list), format, resources(4), "T");
    REQUIRE(wanted);
    REQUIRE(merged);
    check_equal(*merged, *wanted);
    const auto rows = convert(*merged, *parse_format("ds"), resources(4), "T");
    REQUIRE(rows);
    CHECK(stored(*rows) == summed(list));
  }
}

}  // namespace aligned_blocks_test
