// Batches of products keep their block in registers while they are added, unless sums have an order or iterations are looked at.
#include <doctest/doctest.h>

#include <string>

#include "engine/codegen/begun.h"
#include "engine/codegen/signature.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"

namespace batch_test {

using namespace weft;

namespace {

loop::Program ttm(const std::string& marks) {
  return test::program_of(R"(program ttm
  index  i, j, r, s
  input  M : f64 {dense, compressed<32,32>}   access M[i,j]
  input  B : f64 {dense, dense}               access B[j,r]
  input  C : f64 {dense, dense}               access C[j,s]
  output A : f64 {dense, dense, dense}        access A[i,r,s]
  fact   extent(r) = 16
  fact   extent(s) = 16
  for i: locate M, insert A @parallel(A: owner)
    for j: drive M, locate B, locate C )" + marks + R"(
      for r: locate B, insert A
        for s: locate C, insert A @vector
          A += M * B * C
)");
}

/// Whether rows are put aside: 8 of 16 values.
bool waits(const std::string& marks, unsigned bits, const CodeOptions& options) {
  const auto code = llvm_text(ttm(marks), test::host_with_bits(bits), options);
  REQUIRE_MESSAGE(code.has_value(), code.error().message);
  return code->find("alloca [128 x double]") != std::string::npos;
}

std::vector<BegunOutput> begun(const std::string& levels_of_m, const std::string& root, const std::string& mark) {
  const auto program = loop::parse("program p\n  index  i, j, r\n  input  M : f64 {" + levels_of_m +
                                   "}   access M[i,j]\n  input  C : f64 {dense, dense}   access C[j,r]\n"
                                   "  output A : f64 {dense, dense}   access A[i,r]\n  for i: " + root + ", insert A " + mark +
                                   "\n    for j: drive M, locate C\n      for r: locate C, insert A @vector\n        A += M * C\n");
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  return begun_outputs(*program);
}

}  // namespace

TEST_CASE("rows are put aside where products may be added later") {
  for (const unsigned bits : {128u, 256u, 512u}) {
    CHECK(waits("@batch(8)", bits, {}));
    CHECK_FALSE(waits("", bits, {}));
    CHECK_FALSE(waits("@batch(8)", bits, {.strict_fp = true}));
    CHECK_FALSE(waits("@batch(8)", bits, {.checked = true}));
    CHECK_FALSE(waits("@batch(8)", bits, {.count = true}));
  }
}

TEST_CASE("a kernel begins outputs of which each coordinate of the root has a row") {
  using Begun = std::vector<BegunOutput>;
  const loop::StorageId a = 2;
  CHECK(begun("dense, compressed<32,32>", "locate M", "@parallel(A: owner)") == Begun{{a, false, true}});
  CHECK(begun("compressed<32,32>, compressed<32,32>", "drive M", "@parallel(A: owner)") == Begun{{a, false, true}});
  CHECK(begun("compressed<32,32>, compressed<32,32>", "drive M", "") == Begun{{a, false, true}});
  CHECK(begun("dense, compressed<32,32>", "locate M", "@parallel(A: private)").empty());
  CHECK(begun("hashed<32>, compressed<32,32>", "drive M", "").empty());  // in no order
  const auto rows = loop::parse(R"(program rows
  index  i, r
  input  v : f64 {compressed<32,32>}   access v[i]
  input  C : f64 {dense, dense}        access C[i,r]
  output A : f64 {dense, dense}        access A[i,r]
  output s : f64 {dense}               access s[r]
  for i: drive v, locate C, insert A
    for r: locate C, insert A, insert s @vector
      A += v * C
      s += v * C
)");
  REQUIRE_MESSAGE(rows.has_value(), rows.error().message);
  CHECK(begun_outputs(*rows) == Begun{{2, true, true}});  // every element of a row once, and s from every row
  CHECK(signature(*rows).begun == std::vector<std::uint32_t>{2});
}

TEST_CASE("a kernel stores dense results whose elements are each written once, below a root over any of their modes") {
  using Begun = std::vector<BegunOutput>;
  // R[n,j,i] += y[i] * x[j,n] below j, y summed before.
  const auto products = [](const std::string& root, const std::string& mark, const std::string& loops, const std::string& x) {
    const auto program = loop::parse(
        "program p\n  index  i, j, k, n\n  input  T : f64 {dense, dense, dense}   access T[j,k,i]\n  input  x : f64 {" + x +
        "}   access x[j,n]\n  output R : f64 {dense, dense, dense}   access R[n,j,i]\n  for j: " + root + " " + mark +
        "\n    with y[i] : f64 {dense}\n      for k: locate T\n        for i: locate T, insert y @vector\n          y += T\n" + loops);
    REQUIRE_MESSAGE(program.has_value(), program.error().message);
    return begun_outputs(*program);
  };
  const std::string once = "      for n: locate x, insert R, insert R\n        for i: locate y, insert R @vector\n          R += y * x\n";
  const std::string some = "      for n: drive x, insert R, insert R\n        for i: locate y, insert R @vector\n          R += y * x\n";
  const std::string turned = "      for i: locate y\n        for n: locate x, insert R, insert R, insert R\n          R += y * x\n";
  const Begun stored = {{2, true, false}};
  CHECK(products("locate T, locate x", "@parallel(R: owner)", once, "dense, dense") == stored);
  CHECK(products("locate T, locate x", "", turned, "dense, dense") == stored);
  CHECK(products("locate T, locate x", "@parallel(R: private)", once, "dense, dense").empty());
  CHECK(products("locate T, locate x", "", some, "dense, compressed<32,32>").empty());
  CHECK(products("locate T, drive x", "", some, "compressed<32,32>, compressed<32,32>").empty());
  // k is summed into R itself.
  const auto sums = loop::parse("program p\n  index  j, k, n\n  input  T : f64 {dense, dense, dense}   access T[j,k,n]\n"
                                "  output R : f64 {dense, dense}   access R[n,j]\n  for j: locate T\n    for k: locate T\n"
                                "      for n: locate T, insert R, insert R\n        R += T\n");
  REQUIRE_MESSAGE(sums.has_value(), sums.error().message);
  CHECK(begun_outputs(*sums).empty());
}

TEST_CASE("a kernel stores results at the positions of an operand whose entries are visited once each") {
  using Begun = std::vector<BegunOutput>;
  // S[i,j] += M * x below loops over i and j, whose steps are those of M, S and `others`; x sums over `sum`.
  const auto sampled = [](const std::string& levels, const std::string& others, const std::string& inner, const std::string& facts) {
    const std::string first = levels.starts_with("dense") ? "locate M" : "drive M";
    const auto program = loop::parse("program p\n  index  i, j, r\n  input  M : f64 {" + levels +
                                     "}   access M[i,j]\n  input  A : f64 {dense, dense}   access A[i,r]\n"
                                     "  input  B : f64 {dense, dense}   access B[j,r]\n  input  v : f64 {compressed<32,32>}   access v[j]\n"
                                     "  input  W : f64 {dense, compressed<32,32>}   access W[j,i]\n"
                                     "  output S : f64 {" + levels + "}   access S[i,j]\n  fact   like(S, M)\n" + facts +
                                     "  for i: " + first + ", locate A, insert S @parallel(S: owner)\n    for j: drive M, locate B, insert S" +
                                     others + "\n" + inner);
    REQUIRE_MESSAGE(program.has_value(), program.error().message);
    return begun_outputs(*program);
  };
  const std::string dot = "      with x[] : f64 {}\n        for r: locate A, locate B @vector\n          x += A * B\n        S += M * x\n";
  const std::string some = "  fact   extent(r) = 8\n";
  const Begun stored = {{5, true}};
  CHECK(sampled("dense, compressed<32,32>", "", dot, some) == stored);
  CHECK(sampled("compressed<32,32>, compressed<32,32>", "", dot, some) == stored);
  CHECK(sampled("dense, compressed<32,32>", "", "      S += M\n", "") == stored);
  CHECK(sampled("nonunique<32,32>, singleton<32>", "", dot, some) == stored);                          // entries of a chain
  CHECK(sampled("dense, compressed<32,32>", "", dot, "").empty());                                      // no r, nothing is stored
  CHECK(sampled("dense, compressed<32,32>", ", drive v", "      S += M * v\n", "").empty());              // entries are left out
  CHECK(sampled("dense, compressed<32,32>", ", locate W, locate W", "      S += M * W\n", "").empty());    // where W has none
  CHECK(sampled("dense, compressed<32,32>", "", "      S += M\n      S += M\n", "").empty());              // twice
  CHECK(sampled("dense, compressed<32,32>", "", "      for r: locate A, locate B\n        S += M * A * B\n", some).empty());  // once for each r
  CHECK(sampled("dense, bitmap", "", dot, some).empty());                                                // places without an entry
}

TEST_CASE("a diagonal that is not stored leaves a row out") {
  const auto program = [](const std::string& levels, const std::string& access, const std::string& steps) {
    const auto parsed = loop::parse("program p\n  index  i, r\n  input  M : f64 {" + levels + "}   access M[" + access +
                                    "]\n  input  C : f64 {dense, dense}   access C[i,r]\n  output A : f64 {dense, dense}   access A[i,r]\n"
                                    "  for i: " + steps + ", locate C, insert A @parallel(A: owner)\n"
                                    "    for r: locate C, insert A @vector\n      A += M * C\n");
    REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message);
    return *parsed;
  };
  CHECK(leaves_rows_out(program("dense, compressed<32,32>", "i,i", "locate M, locate M")));
  CHECK(leaves_rows_out(program("compressed<32,32>", "i", "drive M")));
  CHECK_FALSE(leaves_rows_out(program("dense, dense", "i,i", "locate M, locate M")));
  CHECK_FALSE(leaves_rows_out(program("dense", "i", "locate M")));
}

}  // namespace batch_test
