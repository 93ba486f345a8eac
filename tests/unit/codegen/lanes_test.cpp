// Rows side by side that have an entry each: their values are one load, their products one vector.
#include <doctest/doctest.h>

#include <string>

#include "engine/codegen/target.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"

namespace lanes_test {

using namespace weft;

namespace {

std::string code_of(unsigned rows, unsigned bits, const CodeOptions& options = {}) {
  const Expected<loop::Program> program =
      loop::parse("program sell\n  index  i, s, r, j\n"
                  "  input  B : f64 {dense, compressed<32,32>, dense, singleton<32>}   access B[i,s,r,j]\n"
                  "  input  x : f64 {dense}   access x[j]\n  output y : f64 {dense, dense}   access y[i,r]\n  fact   extent(r) = " +
                  std::to_string(rows) +
                  "\n  for i: locate B, insert y @parallel(y: owner)\n    for s: drive B\n      for r: locate B, insert y\n"
                  "        for j: drive B, locate x\n          y += B * x\n");
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const Expected<std::string> code = llvm_text(*program, test::host_with_bits(bits), options);
  REQUIRE_MESSAGE(code.has_value(), code.error().message);
  return *code;
}

std::size_t products(const std::string& code, const std::string& type) {
  return test::count(code, "call contract " + type + " @llvm.fmuladd");
}

}  // namespace

TEST_CASE("products of rows side by side are vectors of the target's width") {
  for (const unsigned bits : {256U, 512U}) {
    if (bits > vector_bits(host_target())) continue;
    CAPTURE(bits);
    CHECK(products(code_of(4, bits), "<4 x double>") == 1);
    CHECK(products(code_of(8, bits), bits == 512 ? "<8 x double>" : "<4 x double>") == (bits == 512 ? 1 : 2));
    CHECK(products(code_of(8, bits), "double") == 0);
    CHECK(products(code_of(3, bits), "double") == 3);
  }
}

TEST_CASE("with positions checked they are vectors too") {
  if (vector_bits(host_target()) < 256) return;
  CHECK(products(code_of(4, 256, {.checked = true}), "<4 x double>") == 1);
}

}  // namespace lanes_test
