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

}  // namespace gather_test
