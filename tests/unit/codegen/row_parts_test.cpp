// Rows of a few elements that a kernel adds to in memory are read and written in parts of powers of two; what it only reads keeps its mask.
#include <doctest/doctest.h>

#include <string>

#include "engine/codegen/target.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"

namespace row_parts_test {

using namespace weft;

namespace {

/// Entries of T choose the rows of A that they add to.
std::string code_of(unsigned row, unsigned bits, const std::string& scalar = "f64") {
  const std::string text = "program scatter\n  index  i, j, r\n  input  T : " + scalar + " {dense, compressed<32,32>}   access T[i,j]\n" +
                           "  input  B : " + scalar + " {dense, dense}   access B[i,r]\n  output A : " + scalar +
                           " {dense, dense}   access A[j,r]\n  fact   extent(r) = " + std::to_string(row) +
                           "\n  for i: locate T, locate B\n    for j: drive T, insert A\n      for r: locate B, insert A @vector\n" +
                           "        A += T * B\n";
  const Expected<loop::Program> program = loop::parse(text);
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const Expected<std::string> code = llvm_text(*program, test::host_with_bits(bits), {});
  REQUIRE_MESSAGE(code.has_value(), code.error().message);
  return *code;
}

std::size_t stored(const std::string& code, const std::string& type) { return test::count(code, "store " + type + " "); }

}  // namespace

TEST_CASE("the rest of a row that is added to is stored in parts, without a mask") {
  if (vector_bits(host_target()) != 512) return;
  for (const unsigned row : {3U, 5U, 6U, 7U, 11U, 14U}) {
    CAPTURE(row);
    const std::string code = code_of(row, 512);
    CHECK(test::count(code, "call void @llvm.masked.store") == 0);
    CHECK(stored(code, "<4 x double>") == (row / 4) % 2);
    CHECK(stored(code, "<2 x double>") == (row / 2) % 2);
    CHECK(stored(code, "<1 x double>") == row % 2);
    CHECK(test::count(code, "@llvm.masked.load") > 0);  // of B
  }
  CHECK(stored(code_of(13, 512, "f32"), "<8 x float>") == 1);
  CHECK(stored(code_of(8, 512), "<8 x double>") == 1);
}

}  // namespace row_parts_test
