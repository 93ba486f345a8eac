// Rows of an extent that no fact tells: windows of them in registers, the last of which is masked.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/codegen/signature.h"
#include "engine/codegen/structure.h"
#include "engine/codegen/target.h"
#include "tests/files/loop_case.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"
#include "tests/unit/replaced.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/share.h"

namespace windows_test {

using namespace weft;

namespace {

std::string head(const std::string& output, const std::string& indices = "i, j, k, r", const std::string& access = "B[j,r]") {
  return "program windows\n  index " + indices +
         "\n  input T : WIDE {compressed<32,32>, compressed<32,32>, compressed<32,32>} access T[i,j,k]\n"
         "  input B : SCALAR {dense, dense} access " +
         access + "\n  input C : SCALAR {dense, dense} access C[k,r]\n  output " + output + "\n";
}

const std::string rows = head("A : SCALAR {dense, dense} access A[i,r]");
const std::string sums = head("s : WIDE {dense} access s[i]");
const std::string blocks = head("A : SCALAR {dense, dense, dense} access A[i,q,r]", "i, j, k, q, r", "B[j,q]");

const std::vector<std::string> nests = {
    // one row inside another
    rows + "  for i: drive T, insert A\n    with a[r] : SCALAR {dense}\n      for j: drive T, locate B\n        with x[r] : SCALAR {dense}\n"
    "          for k: drive T, locate C\n            for r: locate C, insert x @vector\n              x += T * C\n"
    "          for r: locate x, locate B, insert a @vector\n            a += x * B\n"
    "      for r: locate a, insert A @vector\n        A += a\n",
    // one row alone, which is added to memory
    rows + "  for i: drive T, insert A\n    for j: drive T, locate B\n      with x[r] : SCALAR {dense}\n        for k: drive T, locate C\n"
    "          for r: locate C, insert x @vector\n            x += T * C\n"
    "        for r: locate x, locate B, insert A @vector\n          A += x * B\n",
    // a row that is read for a sum of its elements
    sums + "  for i: drive T, insert s\n    for j: drive T, locate B\n      with x[r] : WIDE {dense}\n        for k: drive T, locate C\n"
    "          for r: locate C, insert x @vector\n            x += T * C\n"
    "        for r: locate x, locate B @vector\n          s += c0 * x * B\n",
    // every factor in one product
    rows + "  for i: drive T, insert A\n    with a[r] : SCALAR {dense}\n      for j: drive T, locate B\n        for k: drive T, locate C\n"
    "          for r: locate B, locate C, insert a @vector\n            a += T * B * C\n"
    "      for r: locate a, insert A @vector\n        A += a\n",
    // a row that is read for each row of a block
    blocks + "  for i: drive T, insert A\n    for j: drive T, locate B\n      with x[r] : SCALAR {dense}\n        for k: drive T, locate C\n"
    "          for r: locate C, insert x @vector\n            x += T * C\n"
    "        for q: locate B, insert A\n          for r: locate x, insert A @vector\n            A += x * B\n",
};

loop::Program program_with(const std::string& nest, const std::string& wide, const std::string& scalar) {
  return test::program_of(test::all_replaced(test::all_replaced(nest, "WIDE", wide), "SCALAR", scalar));
}

loop::StorageId row_of(const loop::Program& program) {
  return static_cast<loop::StorageId>(std::ranges::find(program.storages, loop::Role::workspace, &loop::Storage::role) -
                                      program.storages.begin());
}

}  // namespace

TEST_CASE("windows of rows of every length, machine and element compute what the loops say, cut anywhere") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  std::mt19937_64 random(static_cast<std::uint32_t>(test::draw()) + 9);
  std::size_t turn = 0;
  for (const std::string& nest : nests)
    for (const std::uint64_t extent : {0, 1, 3, 8, 9, 16, 31, 32, 33, 64, 77, 200})
      for (const auto& [wide, scalar] : {std::pair("f64", "f64"), std::pair("f32", "f32"), std::pair("f64", "f32")}) {
        ++turn;
        if (!test::is_drawn(turn, test::is_sanitized() ? 12 : 3)) continue;
        const loop::Program program = program_with(nest, wide, scalar);
        CHECK(signature(program).scratch.empty());
        loop::Interpretation values{{{"i", 6}, {"j", 5}, {"k", 7}, {"q", 3}, {"r", extent}}, {}, {3}};
        values.inputs["T"] = test::random_entries(random, {6, 5, 7}, 0.3);
        values.inputs["B"] = test::random_entries(random, {5, nest.starts_with(blocks) ? 3 : extent}, 1);
        values.inputs["C"] = test::random_entries(random, {7, extent}, 1);
        const auto expected = loop::interpret(program, values);
        REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
        const Target target = test::host_with_bits(std::vector<unsigned>{512, 256, 128}[random() % 3]);
        const CodeOptions options{.checked = random() % 4 == 0, .strict_fp = random() % 4 == 0};
        const auto found = test::run_native(*jit, program, values, target, options, {random() % 7});
        REQUIRE_MESSAGE(found.has_value(), found.error().message);
        CHECK_MESSAGE(test::difference(program, *expected, *found) == "", nest, " r = ", extent);
        if (random() % 4 > 0) continue;
        auto counts = test::count_native(*jit, program, values, test::host_with_bits(512), {});
        REQUIRE_MESSAGE(counts.has_value(), counts.error().message);
        const auto iterations = loop::iterations(program, values);
        REQUIRE(iterations.has_value());
        counts->resize(iterations->size());
        CHECK_MESSAGE(*counts == *iterations, nest, " r = ", extent);
      }
}

TEST_CASE("an infinite factor leaves what is beside the row alone") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE(jit.has_value());
  const loop::Program program = program_with(nests[2], "f64", "f64");
  loop::Interpretation values{{{"i", 1}, {"j", 1}, {"k", 1}, {"r", 3}}, {}, {1}};
  const double infinity = std::numeric_limits<double>::infinity();
  values.inputs["T"] = {{{0, 0, 0}, infinity}};
  values.inputs["B"] = {{{0, 0}, 1}, {{0, 1}, 1}, {{0, 2}, 1}};
  values.inputs["C"] = values.inputs["B"];
  for (const unsigned bits : {512U, 256U, 128U}) {
    const auto found = test::run_native(*jit, program, values, test::host_with_bits(bits), {});
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    CHECK(found->at("s") == loop::Entries{{{0}, infinity}});
  }
}

TEST_CASE("a row may be gone through in windows where nothing else is added meanwhile") {
  CHECK(is_blocked_row(program_with(nests[0], "f64", "f64"), row_of(program_with(nests[0], "f64", "f64"))));
  const loop::Program beside = program_with(
      sums + "  for i: drive T, insert s\n    for j: drive T, locate B\n      with x[r] : f64 {dense}\n"
      "        for k: drive T, locate C\n          s += T\n          for r: locate C, insert x @vector\n            x += T * C\n"
      "        for r: locate x, locate B @vector\n          s += x * B\n",
      "f64", "f64");
  CHECK_FALSE(is_blocked_row(beside, row_of(beside)));
  CHECK_FALSE(signature(beside).scratch.empty());
  // Loops over q and r are one, which knows no window.
  const loop::Program joined = program_with(
      blocks + "  for i: drive T, insert A\n    for j: drive T\n      with x[r] : f64 {dense}\n        for k: drive T, locate C\n"
      "          for r: locate C, insert x @vector\n            x += T * C\n"
      "          for q: locate B, locate B, insert A\n            for r: locate C, insert A @vector\n              A += T * B * C\n"
      "        for q: locate B, locate B, insert A\n          for r: locate x, insert A @vector\n            A += x * B\n",
      "f64", "f64");
  CHECK_FALSE(is_blocked_row(joined, row_of(joined)));
}

TEST_CASE("sums of windows stay in registers, and loads from the last one are masked") {
  if (vector_bits(host_target()) != 512) return;
  const auto code = assembly_text(program_with(nests[0], "f64", "f64"), test::host_with_bits(512), {});
  REQUIRE_MESSAGE(code.has_value(), code.error().message);
  CHECK(test::count(*code, "{%k") >= 2 * window_vectors);
}

}  // namespace windows_test
