// Random tensors through programs with sparse results and workspaces, against the interpreter: every kind of workspace,
// keys of one and of several modes, chunks, checks, and outputs that cannot grow.
#include <doctest/doctest.h>

#include <random>

#include "engine/loop/program.h"
#include "tests/files/loop_case.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"
#include "tests/unit/replaced.h"
#include "tests/unit/share.h"

namespace sparse_results_test {

using namespace weft;

namespace {

/// `KIND` stands for accumulator, hashed or bitmap.
loop::Program program_with(const std::string& text, const std::string& kind) {
  return test::program_of(test::all_replaced(text, "KIND", kind));
}

loop::Interpretation random_values(std::mt19937_64& random, const loop::Program& program, double fill) {
  loop::Interpretation values;
  for (const std::string& index : program.indices) values.extents[index] = random() % 12;  // none, too
  for (const loop::Fact& fact : program.facts)
    if (const auto* extent = std::get_if<loop::ExtentFact>(&fact))
      values.extents[program.indices[extent->index]] = extent->extent;
  for (const loop::Access& access : program.accesses) {
    const loop::Storage& storage = program.storages[access.storage];
    if (storage.role != loop::Role::input) continue;
    std::vector<std::uint64_t> extents;
    for (const loop::IndexId index : access.indices) extents.push_back(values.extents[program.indices[index]]);
    values.inputs[storage.name] = test::random_entries(random, extents, fill);
  }
  return values;
}

const std::vector<std::string> programs = {
    // row-wise, drained into rows
    "program rows\n  index i, k, j\n"
    "  input  B : f64 {dense, compressed<32,32>}   access B[i,k]\n"
    "  input  C : f64 {dense, compressed<32,32>}   access C[k,j]\n"
    "  output A : f64 {dense, compressed<64,32>}   access A[i,j]\n"
    "  for i: drive B, insert A\n    with w[j] : f64 {KIND<32>}\n"
    "      for k: drive B, locate C\n        for j: drive C, insert w\n          w += B * C\n"
    "      for j: drive w(sort), append A\n        A += w\n",
    // the same in f32 with wide coordinates, and a sum below the entry that may stay empty
    "program uncertain\n  index i, k, j, l\n"
    "  input  B : f32 {compressed<32,32>, compressed<32,32>}                      access B[i,k]\n"
    "  input  C : f32 {dense, compressed<64,64>, compressed<32,32>}               access C[k,j,l]\n"
    "  input  D : f32 {compressed<32,64>}                                         access D[l]\n"
    "  output A : f32 {compressed<64,64>, compressed<64,64>}                      access A[i,j]\n"
    "  for i: drive B, append A   @parallel(A: append)\n    with w[j] : f32 {KIND<64>}\n"
    "      for k: drive B, locate C\n        for j: drive C, insert w\n"
    "          for l: drive C, drive D\n            w += B * C * D\n"
    "      for j: drive w(sort), append A\n        A += w\n",
    // blocks of dense rows below the key
    "program blocks\n  index i, k, j, r\n  fact extent(r) = 5\n"
    "  input  B : f64 {dense, compressed<32,32>}                 access B[i,k]\n"
    "  input  C : f64 {dense, compressed<32,32>, dense}          access C[k,j,r]\n"
    "  output A : f64 {dense, compressed<64,32>, dense}          access A[i,j,r]\n"
    "  for i: drive B, insert A\n    with w[j,r] : f64 {KIND<32>, dense}\n"
    "      for k: drive B, locate C\n        for j: drive C, insert w\n"
    "          for r: locate C, insert w @vector\n            w += B * C\n"
    "      for j: drive w(sort), append A\n        for r: locate w, insert A @vector\n          A += w\n",
    // a sorted workspace merges with an operand
    "program masked\n  index i, k, j\n"
    "  input  B : f64 {dense, compressed<32,32>}   access B[i,k]\n"
    "  input  C : f64 {dense, compressed<32,32>}   access C[k,j]\n"
    "  input  M : f64 {dense, compressed<32,32>}   access M[i,j]\n"
    "  output A : f64 {dense, compressed<64,32>}   access A[i,j]\n"
    "  for i: drive B, locate M, insert A\n    with w[j] : f64 {KIND<32>}\n"
    "      for k: drive B, locate C\n        for j: drive C, insert w\n          w += B * C\n"
    "      for j: drive w(sort), drive M(merge), append A\n        A += w * M\n",
    // looked up under an operand, and no order
    "program looked_up\n  index i, k, j\n"
    "  input  B : f64 {dense, compressed<32,32>}   access B[i,k]\n"
    "  input  C : f64 {dense, compressed<32,32>}   access C[k,j]\n"
    "  input  M : f64 {dense, compressed<32,32>}   access M[i,j]\n"
    "  output A : f64 {dense, compressed<64,32>}   access A[i,j]\n"
    "  output y : f64 {dense}                      access y[j]\n"
    "  for i: drive B, locate M, insert A\n    with w[j] : f64 {KIND<32>}  access w.1[j] access w.2[j]\n"
    "      for k: drive B, locate C\n        for j: drive C, insert w.1\n          w.1 += B * C\n"
    "      for j: drive M, locate w.2, append A\n        A += w.2 * M\n"
    "      for j: drive w.1, insert y\n        y += w.1\n",
    // columns of a product of rows: the key has two modes
    "program columns\n  index i, k, j\n"
    "  input  B : f64 {dense, compressed<32,32>}              access B[i,k]\n"
    "  input  C : f64 {dense, compressed<32,32>}              access C[k,j]\n"
    "  output A : f64 {compressed<64,32>, compressed<64,32>}  access A[j,i]\n"
    "  with w[j,i] : f64 {KIND(2)<32>}\n"
    "    for i: drive B\n      for k: drive B, locate C\n        for j: drive C, insert w, insert w\n          w += B * C\n"
    "    for j: drive w(sort), append A\n      for i: drive w, append A\n        A += w\n",
    // three modes and a block, bound from outside to inside in another order
    "program three\n  index i, j, k, l, r\n  fact extent(r) = 3\n"
    "  input  S : f64 {compressed<32,32>, compressed<32,32>, compressed<32,32>}         access S[l,i,j]\n"
    "  input  T : f64 {dense, compressed<32,32>, dense}                                 access T[l,k,r]\n"
    "  output A : f64 {compressed<64,32>, compressed<64,32>, compressed<64,32>, dense}  access A[i,j,k,r]\n"
    "  with w[i,j,k,r] : f64 {KIND(3)<32>, dense}\n"
    "    for l: drive S, locate T\n      for i: drive S, insert w\n        for j: drive S, insert w\n"
    "          for k: drive T, insert w\n            for r: locate T, insert w @vector\n              w += S * T\n"
    "    for i: drive w(sort), append A\n      for j: drive w, append A\n        for k: drive w, append A\n"
    "          for r: locate w, insert A @vector\n            A += w\n",
};

void check(const Jit& jit, const loop::Program& program, const loop::Interpretation& values, std::mt19937_64& random) {
  const auto expected = loop::interpret(program, values);
  REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
  const auto run = [&](unsigned bits, const CodeOptions& options, const std::vector<std::uint64_t>& cuts) {
    CAPTURE(options.text());
    CAPTURE(bits);
    const auto found = test::run_native(jit, program, values, test::host_with_bits(bits), options, cuts);
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    CHECK(test::difference(program, *expected, *found) == "");
  };
  run(512, {}, {});
  run(512, {.checked = true, .strict_fp = false}, {1 + random() % 11, 1 + random() % 11});
  run(128, {.checked = false, .strict_fp = true}, {1 + random() % 11});
}

}  // namespace

TEST_CASE("random tensors through every kind of workspace") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    if (!test::is_drawn_sanitized(seed)) continue;
    std::mt19937_64 random(seed);
    for (const std::string& text : programs)
      for (const std::string kind : {"accumulator", "hashed", "bitmap"}) {
        std::string kept = text;
        const auto replace = [&](const std::string& from, const std::string& to) {
          for (std::size_t at = kept.find(from); at != std::string::npos; at = kept.find(from))
            kept.replace(at, from.size(), to);
        };
        if (kind == "bitmap") {  // it has no coordinates, and is in order
          for (const char* width : {"KIND<32>", "KIND<64>"}) replace(width, "KIND");
          replace("KIND(2)<32>", "KIND, KIND");
          replace("KIND(3)<32>", "KIND, KIND, KIND");
          replace("(sort)", "");
          replace("drive w, drive M(merge)", "drive M, locate w");
        }
        INFO("seed ", seed, ", ", kind, ":\n", kept);
        const loop::Program program = program_with(kept, kind);
        const double fills[] = {0.05, 0.3, 0.9};
        check(*jit, program, random_values(random, program, fills[seed % 3]), random);
      }
  }
}

TEST_CASE("loops that do nothing but append what a table holds are one call, unless iterations are counted") {
  const auto calls = [](const std::string& text, const CodeOptions& options, const std::string& name) {
    const Expected<std::string> code = llvm_text(test::program_of(text), test::host_with_bits(256), options);
    REQUIRE_MESSAGE(code.has_value(), code.error().message);
    std::size_t found = 0;
    for (std::size_t at = code->find("@" + name + "("); at != std::string::npos; at = code->find("@" + name + "(", at + 1)) ++found;
    return found - (found > 0 ? 1 : 0);  // its declaration
  };
  const std::string drained =
      "program columns\n  index i, k, j\n"
      "  input  B : f64 {dense, compressed<32,32>}              access B[i,k]\n"
      "  input  C : f64 {dense, compressed<32,32>}              access C[k,j]\n"
      "  output A : f64 {compressed<64,32>, compressed<64,32>}  access A[j,i]\n"
      "  with w[j,i] : f64 {hashed(2)<32>}\n"
      "    for i: drive B\n      for k: drive B, locate C\n        for j: drive C, insert w, insert w\n          w += B * C\n"
      "    for j: drive w(sort), append A\n      for i: drive w, append A\n        ";
  CHECK(calls(drained + "A += w\n", {}, "weft_hashed_append") == 1);
  CHECK(calls(drained + "A += w\n", {}, "weft_hashed_sort") == 0);
  CHECK(calls(drained + "A += w\n", {.symbolic = true}, "weft_hashed_append") == 1);
  CHECK(calls(drained + "A += w\n", {.count = true}, "weft_hashed_append") == 0);
  CHECK(calls(drained + "A += w\n", {.checked = true}, "weft_hashed_append") == 0);
  for (const std::string other : {"A -= w\n", "A += w * w\n", "A += c0 * w\n"}) {
    CHECK(calls(drained + other, {}, "weft_hashed_append") == 0);
    CHECK(calls(drained + other, {}, "weft_hashed_sort") == 1);
  }
}

TEST_CASE("a result that may not grow ends the kernel") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  std::mt19937_64 random(5);
  const loop::Program program = program_with(programs[1], "accumulator");
  loop::Interpretation values = random_values(random, program, 0.9);
  for (const char* index : {"i", "k", "j", "l"}) values.extents[index] = 9;
  for (const loop::Access& access : program.accesses)
    if (program.storages[access.storage].role == loop::Role::input)
      values.inputs[program.storages[access.storage].name] =
          test::random_entries(random, std::vector<std::uint64_t>(access.indices.size(), 9), 0.9);
  const Expected<ObjectCode> object = compile(program, host_target(), {});
  REQUIRE(object.has_value());
  const Expected<LoadedCode> code = jit->load(*object, "grows");
  REQUIRE(code.has_value());
  for (std::uint64_t calls = 0;; ++calls) {
    REQUIRE(calls < 1000);
    test::PreparedRun run;
    run.fill(program, values);
    const auto ran = run.run_chunk(code->function(), program, values, 0, 9, calls);
    if (ran) {
      CHECK(calls > 10);
      CHECK(test::difference(program, *loop::interpret(program, values), run.results(program)) == "");
      break;
    }
    CHECK(ran.error().message.starts_with("status 3"));  // KernelStatus::limit
  }
}

}  // namespace sparse_results_test
