// Rows that only masked loads read in order are fetched ahead, others are not.
#include <doctest/doctest.h>

#include <string>

#include "engine/codegen/target.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"

namespace masked_rows_test {

using namespace weft;

namespace {

std::string code_of(const std::string& text, unsigned bits, const CodeOptions& options = {}) {
  const Expected<loop::Program> program = loop::parse(text);
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const Expected<std::string> code = llvm_text(*program, test::host_with_bits(bits), options);
  REQUIRE_MESSAGE(code.has_value(), code.error().message);
  return *code;
}

std::size_t fetches(const std::string& code) { return test::count(code, "call void @llvm.prefetch"); }

/// SpMV of blocks of `high` by `wide`.
std::string blocks(unsigned high, unsigned wide) {
  const std::string facts = "  fact   extent(r) = " + std::to_string(high) + "\n  fact   extent(c) = " + std::to_string(wide) + "\n";
  return "program blocks\n  index  I, J, r, c\n"
         "  input  B : f64 {dense, compressed<32,32>, dense, dense}   access B[I,J,r,c]\n"
         "  input  x : f64 {dense, dense}   access x[J,c]\n  output y : f64 {dense, dense}   access y[I,r]\n" + facts +
         "  for I: locate B, insert y @parallel(y: owner)\n    with w[r,c] : f64 {dense, dense}\n      for J: drive B, locate x\n"
         "        for r: locate B, insert w\n          for c: locate B, locate x, insert w @vector\n            w += B * x\n"
         "      for r: locate w, insert y\n        for c: locate w @vector\n          y += w\n";
}

/// Sums of the rows of a dense matrix, all of them or those that M names.
std::string rows(unsigned wide, bool named) {
  return "program rows\n  index  i, r\n  input  M : f64 {compressed<32,32>}   access M[i]\n"
         "  input  X : f64 {dense, dense}   access X[i,r]\n  output y : f64 {dense}   access y[i]\n"
         "  fact   extent(r) = " + std::to_string(wide) + "\n  for i: " + (named ? "drive M, " : "") +
         "locate X, insert y\n    for r: locate X @vector\n      y += X" + (named ? " * M" : "") + "\n";
}

}  // namespace

TEST_CASE("rows of blocks and matrices that masks alone read in order are fetched ahead") {
  if (vector_bits(host_target()) != 512) return;
  CHECK(fetches(code_of(blocks(3, 3), 512)) == 2);  // 72 bytes: two lines
  CHECK(fetches(code_of(blocks(1, 5), 512)) == 1);
  CHECK(fetches(code_of(rows(3, false), 512)) == 1);
}

TEST_CASE("rows that whole vectors read, in no order, or elsewhere than by masks, are not") {
  if (vector_bits(host_target()) != 512) return;
  CHECK(fetches(code_of(blocks(4, 4), 512)) == 0);
  CHECK(fetches(code_of(blocks(3, 11), 512)) == 0);
  CHECK(fetches(code_of(blocks(3, 3), 256)) == 0);
  CHECK(fetches(code_of(blocks(3, 3), 512, {.checked = true})) == 0);
  CHECK(fetches(code_of(rows(3, true), 512)) == 0);
  CHECK(fetches(code_of(rows(8, false), 512)) == 0);
}

}  // namespace masked_rows_test
