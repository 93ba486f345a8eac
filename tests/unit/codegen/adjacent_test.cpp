// Fibers whose coordinates follow each other, of all lengths around those of vectors: what the interpreter says.
#include <doctest/doctest.h>

#include <string>
#include <tuple>

#include "engine/codegen/target.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/share.h"

namespace adjacent_test {

using namespace weft;

namespace {

constexpr std::uint64_t rows = 40, columns = 90;

std::string head(const std::string& fact, const std::string& scalar) {
  return "program runs\n  index  d, i\n  input  B : f64 {compressed<32,32>, compressed<32,32>}   access B[d,i]\n"
         "  input  x : " + scalar +
         " {dense, dense}   access x[d,i]\n  input  z : f64 {dense}   access z[d]\n  input  c : f64 {}   access c[]\n"
         "  fact   adjacent(B.1)" + fact + "\n";
}

/// Fiber d begins at 0, or anywhere, and has 0, 1, 2, … entries.
loop::Interpretation values(bool from_zero) {
  loop::Interpretation made;
  made.extents = {{"d", rows}, {"i", columns}};
  for (std::uint64_t d = 0; d < rows; ++d) {
    made.inputs["z"][{d}] = static_cast<double>(d % 4) - 1;
    const std::uint64_t first = from_zero ? 0 : 7 * d % 13;
    for (std::uint64_t n = 0; n < (d * d) % 71 && first + n < columns; ++n)
      made.inputs["B"][{d, first + n}] = static_cast<double>((3 * d + n) % 5) - 2;
    for (std::uint64_t i = 0; i < columns; ++i) made.inputs["x"][{d, i}] = static_cast<double>((d + 2 * i) % 7) - 3;
  }
  made.inputs["c"][{}] = 3;
  return made;
}

/// Elements of dense outputs that nothing was added to are zeros.
std::map<std::string, loop::Entries> nonzeros(std::map<std::string, loop::Entries> outputs) {
  for (auto& [name, entries] : outputs) std::erase_if(entries, [](const auto& entry) { return entry.second == 0; });
  return outputs;
}

}  // namespace

TEST_CASE("adjacent fibers: sums into scalars, into rows, and of several factors are those of the interpreter") {
  const std::vector<std::string> bodies = {
      "  output y : f64 {dense}   access y[i]\n  for d: drive B, locate x\n    for i: drive B, locate x, insert y\n      y += B * x\n",
      "  output y : f32 {dense}   access y[i]\n  for d: drive B, locate x, locate z\n    for i: drive B, locate x, insert y\n"
      "      y += B * x * z * c\n",
      "  output y : f64 {dense}   access y[d]\n  for d: drive B, locate x, insert y\n    for i: drive B, locate x\n      y -= B * x\n",
      "  output s : f64 {}   access s[]\n  for d: drive B, locate x\n    for i: drive B, locate x\n      s += x * B\n",
      "  output s : f32 {}   access s[]\n  for d: drive B, locate z\n    for i: drive B\n      s += z * B * c\n",
      "  output y : f64 {dense}   access y[i]\n  for i: insert y\n    for d: drive B, locate B, locate x, locate x\n      y += B * x\n",
      "  output y : f64 {dense}   access y[i]\n  output t : f64 {dense}   access t[d]\n  for d: drive B, locate x, insert t\n"
      "    for i: drive B, locate x, insert y\n      y += B * x\n      t += B\n"};
  std::uint64_t turn = 0;
  for (const auto& [from_zero, scalar] : {std::tuple(false, "f64"), std::tuple(true, "f64"), std::tuple(false, "f32")}) {
    for (const std::string& body : bodies) {
      std::string text = head(from_zero ? " = 0" : "", scalar);
      text += body;
      CAPTURE(text);
      auto parsed = loop::parse(text);
      REQUIRE_MESSAGE(parsed, parsed.error().message);
      loop::Program program = *parsed;
      REQUIRE(loop::verify(program));
      const loop::Interpretation given = values(from_zero);
      const auto expected = loop::interpret(program, given);
      REQUIRE_MESSAGE(expected, expected.error().message);
      for (const unsigned bits : {512U, 256U, 128U}) {
        if (bits > vector_bits(host_target())) continue;
        for (const CodeOptions& options :
             {CodeOptions{}, CodeOptions{.strict_fp = true}, CodeOptions{.checked = true}, CodeOptions{.count = true}}) {
          // 5 and 11 have no factor in common with the machines and options.
          if (!test::is_drawn(++turn, test::is_sanitized() ? 11 : 5)) continue;
          const Target target = test::host_with_bits(bits);
          const auto jit = Jit::create();
          REQUIRE(jit);
          const auto found = test::run_native(*jit, program, given, target, options, {3, 20});
          REQUIRE_MESSAGE(found, found.error().message);
          CHECK(nonzeros(*found) == nonzeros(*expected));
        }
      }
    }
  }
}

TEST_CASE("adjacent fibers are no scalar loops") {
  const auto code = [](const std::string& fact) {
    const loop::Program program = test::program_of(
        "program y\n  index  d, i\n  input  B : f64 {compressed<32,32>, compressed<32,32>}   access B[d,i]\n"
        "  input  x : f64 {dense}   access x[i]\n  output y : f64 {dense}   access y[d]\n" +
        fact + "  for d: drive B, insert y\n    for i: drive B, locate x\n      y += B * x\n");
    const auto text = llvm_text(program, test::host_with_bits(256), {});
    REQUIRE_MESSAGE(text.has_value(), text.error().message);
    return *text;
  };
  CHECK(code("").find("llvm.masked.load") == std::string::npos);
  CHECK(code("  fact   adjacent(B.1)\n").find("llvm.masked.load") != std::string::npos);
  // What is known to begin at 0 is not read.
  CHECK(code("  fact   adjacent(B.1) = 0\n").find("ptr %\"crd B.1\", i64") == std::string::npos);
}

}  // namespace adjacent_test
