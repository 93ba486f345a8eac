// Sums of one fiber are vectors of gathered elements where the target has vectors for that, the loop is marked, and order is free.
#include <doctest/doctest.h>

#include <string>

#include "engine/codegen/target.h"
#include "tests/unit/codegen/jit_run.h"

namespace gather_test {

using namespace weft;

namespace {

std::string code_of(const std::string& marks, unsigned bits, const CodeOptions& options = {}) {
  const Expected<loop::Program> program = loop::parse(R"(program rows
  index  i, j
  input  M : f64 {dense, compressed<32,32>}   access M[i,j]
  input  x : f64 {dense}                      access x[j]
  output y : f64 {dense}                      access y[i]
  for i: locate M, insert y @parallel(y: owner)
    for j: drive M, locate x )" + marks + R"(
      y += M * x
)");
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const Expected<std::string> code = llvm_text(*program, test::host_with_bits(bits), options);
  REQUIRE_MESSAGE(code.has_value(), code.error().message);
  return *code;
}

bool gathers(const std::string& code) { return code.find("llvm.masked.gather") != std::string::npos; }

}  // namespace

TEST_CASE("sums of fibers are gathered where they are marked") {
  if (vector_bits(host_target()) < 512) return;
  CHECK(gathers(code_of("@vector", 512)));
  CHECK_FALSE(gathers(code_of("", 512)));
  CHECK_FALSE(gathers(code_of("@vector", 256)));
  CHECK_FALSE(gathers(code_of("@vector", 512, {.strict_fp = true})));
  CHECK_FALSE(gathers(code_of("@vector", 512, {.checked = true})));
}

TEST_CASE("several sums over a row that a loop before has filled do not wait for each other") {
  const Expected<loop::Program> program = loop::parse(R"(program rows
  index  i, j
  input  A : f64 {dense, compressed<32,32>}   access A[i,j]
  input  B : f64 {dense, compressed<32,32>}   access B[i,j]
  output y : f64 {dense}                      access y[i]
  for i: locate A, locate B, insert y @parallel(y: owner)
    with z[j] : f64 {dense}
      for j: drive A, insert z
        z += A
      for j: drive B, locate z
        y += z * B
)");
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const auto products = [&](const CodeOptions& options) {
    const Expected<std::string> code = llvm_text(*program, test::host_with_bits(128), options);
    REQUIRE_MESSAGE(code.has_value(), code.error().message);
    std::size_t count = 0;
    for (std::size_t at = code->find("fmul"); at != std::string::npos; at = code->find("fmul", at + 1)) ++count;
    return count;
  };
  CHECK(products({}) > 2 * products({.strict_fp = true}));
}

}  // namespace gather_test
