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
      check(jit,
            fmt::format("program lookups\n  index  i, j\n  input  A : f64 {{dense, compressed<32,32>}}   access A[i,j]\n"
                        "  input  B : f64 {{dense, compressed<32,{}>}}   access B[i,j]\n  output y : f64 {{dense}}   access y[i]\n"
                        "  for i: locate A, locate B, insert y\n    for j: drive A, locate B({})\n      y += A * B\n",
                        width, algorithm),
            values);
    }
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
