// The size of code with patterns baked in, against the code that is written.
#include <doctest/doctest.h>

#include <memory>
#include <sstream>
#include <string>

#include "engine/codegen/baked_size.h"
#include "engine/codegen/codegen.h"

namespace baked_size_test {

using namespace weft;

namespace {

constexpr std::uint64_t any = ~std::uint64_t{0};

/// Every row has `each` entries, from column `first` on, `step` apart: of a {dense, compressed} matrix.
Pattern matrix(std::uint64_t rows, std::uint64_t each, std::uint64_t first, std::uint64_t step) {
  Pattern pattern;
  pattern.pos = {{}, {0}};
  pattern.crd = {{}, {}};
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t entry = 0; entry < each; ++entry) pattern.crd[1].push_back(first + step * entry);
    pattern.pos[1].push_back(pattern.crd[1].size());
  }
  return pattern;
}

loop::Program program(const std::string& text) {
  const auto parsed = loop::parse(text);
  REQUIRE_MESSAGE(parsed, parsed.error().message);
  REQUIRE_MESSAGE(loop::verify(*parsed), text);
  return *parsed;
}

/// The instructions of the loops.
std::uint64_t written(const loop::Program& program, const CodeOptions& options) {
  const auto text = llvm_text(program, host_target(), options);
  REQUIRE_MESSAGE(text, text.error().message);
  std::istringstream lines(text->substr(text->find("@weft_loops(")));
  std::uint64_t instructions = 0;
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line) && line != "}";)
    if (line.starts_with("  ") && !line.starts_with("  ;")) ++instructions;
  return instructions;
}

CodeOptions with(Patterns patterns) {
  CodeOptions options;
  options.patterns = std::make_shared<const Patterns>(std::move(patterns));
  return options;
}

const std::string head =
    "program p\n  index i, j, k\n"
    "  input  A : f64 {dense, compressed<32,32>}   access A[i,j]\n"
    "  input  B : f64 {dense, compressed<32,32>}   access B[k,j]\n";
const std::string extents = "  fact   extent(i) = 60\n  fact   extent(j) = 60\n  fact   extent(k) = 60\n";

}  // namespace

TEST_CASE("baked size: what is written for each entry is counted for each entry") {
  struct Case {
    std::string text;
    std::uint64_t least, most;  // entries that meet, times what each is
  };
  const Case cases[] = {
      // A alone: 600 entries.
      {"program p\n  index i, j\n  input  A : f64 {dense, compressed<32,32>}   access A[i,j]\n"
       "  input  x : f64 {dense}                      access x[j]\n  output y : f64 {dense}                      access y[i]\n"
       "  fact   pattern(A) = 1\n  fact   extent(i) = 60\n  fact   extent(j) = 60\n"
       "  for i: locate A, insert y\n    for j: drive A, locate x\n      y += A * x\n",
       600, 600 * 12},
      // Each row of A meets each of B, in five of ten columns.
      {head + "  output R : f64 {dense, dense}               access R[i,k]\n  fact   pattern(A) = 1\n  fact   pattern(B) = 2\n" + extents +
           "  for i: locate A, insert R\n    for k: locate B, insert R\n      for j: drive A, locate B\n        R += A * B\n",
       60 * 60 * 5, 60 * 60 * 5 * 12},
      // The same of a B that is searched.
      {head + "  output R : f64 {dense, dense}               access R[i,k]\n  fact   pattern(A) = 1\n" + extents +
           "  for i: locate A, insert R\n    for k: locate B, insert R\n      for j: drive A, locate B\n        R += A * B\n",
       600 * 20, 600 * 120},
      // Both drive: merged, in a loop for each pair of rows.
      {head + "  output R : f64 {dense, dense}               access R[i,k]\n  fact   pattern(A) = 1\n  fact   pattern(B) = 2\n" + extents +
           "  for i: locate A, insert R\n    for k: locate B, insert R\n      for j: drive A, drive B\n        R += A * B\n",
       60 * 60 * 10, 60 * 60 * 80},
  };
  const CodeOptions options = with({{1, matrix(60, 10, 0, 2)}, {2, matrix(60, 30, 10, 1)}});
  for (const Case& one : cases) {
    CAPTURE(one.text);
    const loop::Program parsed = program(one.text);
    const std::uint64_t size = baked_size(parsed, options, any);
    const std::uint64_t instructions = written(parsed, options);
    CHECK(size >= one.least);
    CHECK(size <= one.most);
    CHECK(instructions <= size + size / 2 + 200);
    CHECK(size <= 4 * instructions);
    CHECK(baked_size(parsed, options, 1000) < 1200);  // soon after
    CodeOptions checked = options;
    checked.checked = true;  // nothing is baked in
    CHECK(baked_size(parsed, checked, any) < 1000);
    CHECK(baked_size(parsed, {}, any) < 1000);
  }
}

}  // namespace baked_size_test
