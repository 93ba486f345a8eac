// Coordinates found by fingers and by bisection, a vector of them at a time: fibers of every length, widths, ends, sums out of range.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/loop/interpret.h"
#include "tests/files/loop_case.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"

namespace lookups_test {

using namespace weft;
using loop::Entries;
using loop::Interpretation;

namespace {

constexpr std::uint64_t rows = 12;

// `count` coordinates of a fiber, or all there are.
std::set<std::uint64_t> drawn_fiber(std::mt19937_64& dice, std::uint64_t count, std::uint64_t extent) {
  std::set<std::uint64_t> drawn;
  while (drawn.size() < std::min(count, extent)) drawn.insert(dice() % extent);
  return drawn;
}

Entries drawn_rows(std::mt19937_64& dice, const std::vector<std::uint64_t>& lengths, std::uint64_t extent) {
  Entries entries;
  for (std::uint64_t row = 0; row < rows; ++row)
    for (const std::uint64_t coordinate : drawn_fiber(dice, lengths[dice() % lengths.size()], extent))
      entries[{row, coordinate}] = static_cast<double>(1 + dice() % 9);
  return entries;
}

void check(const Jit& jit, const std::string& text, const Interpretation& values) {
  CAPTURE(text);
  const loop::Program program = test::program_of(text);
  const auto expected = loop::interpret(program, values);
  REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
  for (const unsigned bits : {128u, 256u, 512u}) {
    for (const bool checked : {false, true}) {
      CAPTURE(bits);
      CAPTURE(checked);
      const auto found = test::run_native(jit, program, values, test::host_with_bits(bits), {.checked = checked, .strict_fp = false});
      REQUIRE_MESSAGE(found.has_value(), found.error().message);
      CHECK(test::difference(program, *expected, *found) == "");
    }
  }
}

Jit new_jit() {
  Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  return std::move(*jit);
}

}  // namespace

TEST_CASE("lookups in fibers of every length and width") {
  const Jit jit = new_jit();
  std::mt19937_64 dice(31);
  constexpr std::uint64_t extent = 3000;
  for (const unsigned width : {32u, 64u}) {
    for (const char* algorithm : {"gallop", "search"}) {
      Interpretation values{{{"i", rows}, {"j", extent}}, {}, {}};
      values.inputs["A"] = drawn_rows(dice, {0, 1, 5, 60, 400}, extent);
      values.inputs["B"] = drawn_rows(dice, {0, 1, 2, 7, 8, 9, 16, 17, 33, 65, 300, 2500}, extent);
      for (const char* order : {"", " desc"})
        check(jit,
              fmt::format("program lookups\n  index  i, j\n  input  A : f64 {{dense, compressed<32,32>}}   access A[i,j]\n"
                          "  input  B : f64 {{dense, compressed<32,{}>{}}}   access B[i,j]\n  output y : f64 {{dense}}   access y[i]\n"
                          "  for i: locate A, locate B, insert y\n    for j: drive A, locate B({})\n      y += A * B\n",
                          width, order, algorithm),
              values);
    }
  }
}

TEST_CASE("fingers kept over the blocks of a row") {
  const Jit jit = new_jit();
  std::mt19937_64 dice(35);
  constexpr std::uint64_t blocks = 400;
  for (const unsigned width : {32u, 64u}) {
    for (const std::uint64_t places : {1, 3, 8}) {
      const std::uint64_t extent = blocks * places - places / 2;
      Interpretation values{{{"i", rows}, {"J", blocks}, {"c", places}, {"j", extent}, {"k", extent}, {"zero", 1}}, {}, {}};
      for (const auto& [block, value] : drawn_rows(dice, {0, 1, 5, 60, 390}, blocks))
        for (std::uint64_t c = 0; c < places; ++c)
          if (dice() % 3 > 0 || c == dice() % places) values.inputs["A"][{block[0], block[1], c}] = value + static_cast<double>(c);
      values.inputs["B"] = drawn_rows(dice, {0, 1, 2, 7, 8, 9, 16, 17, 33, 65, 300, 2500}, extent);
      for (const std::uint64_t j : drawn_fiber(dice, extent / 3, extent)) values.inputs["x"][{0, j}] = static_cast<double>(1 + j % 9);
      for (const char* levels : {"dense, compressed<32,32>, compressed<32,32>", "dense, compressed<32,32>, dense"}) {
        const bool dense = std::string(levels).ends_with("dense");
        for (const char* order : {"", " desc"})
          check(jit,
                fmt::format("program kept\n  index  i, J, c, zero = J / {0}, j = {1}*J + c below {2},"
                            " k = {1}*J + c - 1 below {2}\n"
                            "  input  A : f64 {{{3}}}   access A[i,J,c]\n"
                            "  input  B : f64 {{dense, compressed<32,{4}>{5}}}   access B[i,j]\n"
                            "  input  x : f64 {{dense, compressed<32,{4}>}}   access x[zero,k]\n  output y : f64 {{dense}}   access y[i]\n"
                            "  fact   extent(J) = {0}\n  fact   extent(c) = {1}\n"
                            "  for i: locate A, locate B, insert y @parallel(y: owner)\n    for J: drive A, locate x\n"
                            "      for c: {6} A, locate B(gallop J), locate x(gallop J)\n        y += A * B * x\n",
                            blocks, places, extent, levels, width, order, dense ? "locate" : "drive"),
                values);
      }
    }
  }
}

TEST_CASE("starts that cover a coordinate in fibers of every length and width") {
  const Jit jit = new_jit();
  std::mt19937_64 dice(33);
  constexpr std::uint64_t extent = 6000;
  constexpr std::uint64_t width = 4;
  for (const unsigned bits : {32u, 64u}) {
    for (const char* algorithm : {"gallop", "search"}) {
      Interpretation values{{{"i", rows}, {"j", extent}, {"b", extent}, {"c", width}, {"k", extent}, {"l", extent}}, {}, {}};
      values.inputs["A"] = drawn_rows(dice, {0, 1, 5, 60, 400}, extent);
      // Blocks that do not overlap, and runs of up to as many places at the same starts.
      for (const auto& [place, value] : drawn_rows(dice, {0, 1, 2, 7, 8, 9, 16, 17, 33, 65, 300, 2500}, extent)) {
        const std::uint64_t start = place[1] - place[1] % (width + dice() % 2);
        const auto before = values.inputs["B"].lower_bound({place[0], start, 0});
        const bool apart = before == values.inputs["B"].begin() || std::prev(before)->first[0] != place[0] ||
                           std::prev(before)->first[1] + width <= start;
        if (!apart) continue;
        for (std::uint64_t c = 0; c < width; ++c) values.inputs["B"][{place[0], start, c}] = static_cast<double>(1 + (start + c) % 9);
        const std::uint64_t length = 1 + dice() % width;
        for (std::uint64_t c = 0; c < length; ++c) values.inputs["V"][{place[0], start, c}] = value + static_cast<double>(c);
      }
      check(jit,
            fmt::format("program blocks\n  index  i, j, b = cover(j, 4) below 6000, c = j - b below 4, k = cover(j) below 6000,"
                        " l = j - k below 6000\n"
                        "  input  A : f64 {{dense, compressed<32,32>}}   access A.1[i,j] access A.2[i,j]\n"
                        "  input  B : f64 {{dense, compressed<32,{0}>, dense}}   access B[i,b,c]\n"
                        "  input  V : f64 {{dense, compressed<32,{0}>, compressed<32,32>}}   access V[i,k,l]\n"
                        "  output y : f64 {{dense}}   access y[i]\n  output z : f64 {{dense}}   access z[i]\n  fact adjacent(V.2) = 0\n"
                        "  for i: locate A.1, locate A.2, locate B, locate V, insert y, insert z\n"
                        "    for j: drive A.1, locate B({1}), locate B\n      y += A.1 * B\n"
                        "    for j: drive A.2, locate V({1}), locate V\n      z += A.2 * V\n",
                        bits, algorithm),
            values);
    }
  }
}

TEST_CASE("a start covers what is beyond the bits of its level") {
  const Jit jit = new_jit();
  Interpretation values{{{"j", 9}, {"b", std::uint64_t{1} << 32}, {"c", 8}}, {}, {}};
  values.inputs["x"] = {{{0}, 1}, {{5}, 2}, {{7}, 3}, {{8}, 4}};
  for (std::uint64_t c = 0; c < 8; ++c) values.inputs["B"][{4294967290, c}] = static_cast<double>(1 + c);
  for (const char* algorithm : {"gallop", "search"}) {
    const std::string text = fmt::format(
        "program beyond\n  index  j, b = cover(j + 4294967290, 8) below 4294967296, c = j - b + 4294967290 below 8\n"
        "  input  x : f64 {{compressed<32,32>}}   access x[j]\n  input  B : f64 {{compressed<32,32>, dense}}   access B[b,c]\n"
        "  output s : f64 {{}}   access s[]\n  for j: drive x, locate B({}), locate B\n    s += x * B\n",
        algorithm);
    check(jit, text, values);
    CHECK(loop::interpret(test::program_of(text), values)->at("s").at({}) == 1 * 1 + 2 * 6 + 3 * 8);
  }
}

TEST_CASE("runs of equal coordinates are found whole") {
  const Jit jit = new_jit();
  std::mt19937_64 dice(32);
  for (const char* algorithm : {"gallop", "search"}) {
    Interpretation values{{{"j", 200}, {"k", 50}}, {}, {}};
    for (const std::uint64_t j : drawn_fiber(dice, 90, 200)) values.inputs["a"][{j}] = static_cast<double>(1 + j % 5);
    for (const std::uint64_t j : drawn_fiber(dice, 120, 200))
      for (const std::uint64_t k : drawn_fiber(dice, 1 + dice() % 40, 50)) values.inputs["B"][{j, k}] = static_cast<double>(1 + k % 7);
    check(jit,
          fmt::format("program runs\n  index  j, k\n  input  a : f64 {{compressed<32,32>}}   access a[j]\n"
                      "  input  B : f64 {{nonunique<32,32>, singleton<32>}}   access B[j,k]\n  output y : f64 {{dense}}   access y[k]\n"
                      "  for j: drive a, locate B({})\n    for k: drive B, insert y\n      y += a * B\n",
                      algorithm),
          values);
  }
}

TEST_CASE("sums out of range are no coordinates of fewer bits") {
  const Jit jit = new_jit();
  // d of (0,0) is -1, in 32 bits 4294967295; of (4,4) it is too large, in 32 bits 3.
  Interpretation values{{{"i", 5}, {"j", 6}, {"d", std::uint64_t{1} << 32}}, {}, {}};
  values.inputs["A"] = {{{0, 0}, 3}, {{0, 4}, 5}, {{4, 0}, 4}, {{4, 4}, 1}};
  values.inputs["B"][{3}] = 2;
  values.inputs["B"][{4294967295}] = 7;
  for (const char* algorithm : {"gallop", "search"}) {
    const std::string text = fmt::format(
        "program sums\n  index  i, j, d = 1073741824*i + j - 1 below 4294967296\n"
        "  input  A : f64 {{dense, compressed<32,32>}}   access A[i,j]\n"
        "  input  B : f64 {{compressed<32,32>}}   access B[d]\n  output s : f64 {{}}   access s[]\n"
        "  for i: locate A\n    for j: drive A, locate B({})\n      s += A * B\n",
        algorithm);
    check(jit, text, values);
    CHECK(loop::interpret(test::program_of(text), values)->at("s").at({}) == 5 * 2 + 4 * 7);
  }
}

}  // namespace lookups_test
