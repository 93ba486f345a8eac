#include "engine/codegen/codegen.h"

#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "engine/codegen/target.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"

namespace codegen_test {

using namespace weft;
using loop::Entries;
using loop::Interpretation;

namespace {

Jit new_jit() {
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  return *jit;
}

const char* const spmm_text =
    "program spmm\n  index i, k, r\n"
    "  input  T : f64 {dense, compressed<32,32>}   access T[i,k]\n"
    "  input  C : f64 {dense, dense}               access C[k,r]\n"
    "  output A : f64 {dense, dense}               access A[i,r]\n"
    "  fact   extent(r) = 32\n"
    "  for i: drive T, insert A\n    for k: drive T, locate C\n      for r: locate C, insert A @vector\n"
    "        A += T * C\n";

const char* const dot_text =
    "program dot\n  index i\n  input a : f64 {dense} access a[i]\n  input b : f64 {dense} access b[i]\n"
    "  output s : f64 {} access s[]\n  for i: locate a, locate b @vector\n    s += a * b\n";

}  // namespace

TEST_CASE("a constant row is added up in registers, by vectors as wide as the machine's") {
  const loop::Program spmm = test::program_of(spmm_text);
  const auto fused = [&](unsigned bits, const CodeOptions& options) {
    const Expected<std::string> text = llvm_text(spmm, test::host_with_bits(bits), options);
    REQUIRE_MESSAGE(text.has_value(), text.error().message);
    return *text;
  };
  if (vector_bits(host_target()) == 512) {
    CHECK(test::count(fused(512, {}), "call contract <8 x double> @llvm.fmuladd.v8f64") == 4);
    const Expected<std::string> assembly = assembly_text(spmm, test::host_with_bits(512), {});
    REQUIRE(assembly.has_value());
    CHECK(test::count(*assembly, "vfmadd231pd") == 4);
    CHECK(test::count(*assembly, "vmovupd\t%zmm") == 4);  // one store per vector of the row, behind the loop
  }
  CHECK(test::count(fused(256, {}), "@llvm.fmuladd.v4f64(<4 x double> %") == 8);
  CHECK(test::count(fused(128, {}), "@llvm.fmuladd.v2f64(<2 x double> %") == 16);
  CHECK(test::count(fused(512, {.checked = false, .strict_fp = true}), "fmuladd") == 0);
}

TEST_CASE("a kernel has one way out of all its loops, and touches the rows that lie ahead, once for each operand") {
  const loop::Program program = test::program_of(
      "program gather\n  index i, k, r\n"
      "  input  T : f64 {dense, compressed<32,32>}   access T[i,k]\n"
      "  input  C : f64 {dense, compressed<32,32>}   access C[k,r]\n"
      "  output A : f64 {dense, dense, dense}        access A[r,i,k]\n"
      "  for i: locate T\n    for k: drive T, locate C @prefetch(8)\n"
      "      for r: drive C, insert A, insert A, insert A @prefetch(12)\n        A += T * C\n");
  const Expected<std::string> text = llvm_text(program, host_target(), {});
  REQUIRE_MESSAGE(text.has_value(), text.error().message);
  CHECK(test::count(*text, "  ret i32 1\n") == 1);
  CHECK(test::count(*text, "load atomic") == 2);  // the loop over r is cut into strips, which look often enough for that over k
  // Where C's row begins, its coordinates and two lines of values. Nothing of A, whose element 12 coordinates ahead is in no row that the
  // loops over i and k leave open.
  CHECK(test::count(*text, "@llvm.prefetch.p0(ptr %") == 4);
  // Checked kernels read no ends of fibers that lie ahead: parts of slices have none of other slices.
  const Expected<std::string> checked = llvm_text(program, host_target(), {.checked = true});
  REQUIRE_MESSAGE(checked.has_value(), checked.error().message);
  CHECK(test::count(*checked, "@llvm.prefetch") == 0);
}

TEST_CASE("compile reports its times and the target is part of the text") {
  CompileTimes times;
  REQUIRE(compile(test::program_of(spmm_text), host_target(), {}, &times).has_value());
  CHECK(times.generate > 0);
  CHECK(times.emit > 0);
  CHECK(host_target() == host_target());
  CHECK(host_target().text().find(host_target().cpu) != std::string::npos);
  CHECK(CodeOptions{}.text() != CodeOptions{.checked = true, .strict_fp = false}.text());
  CHECK(CodeOptions{}.text() != CodeOptions{.checked = false, .strict_fp = true}.text());
  CHECK(CodeOptions{}.text() != CodeOptions{.count = true}.text());
}

TEST_CASE("an unknown machine is an error") {
  Target triple = host_target();
  triple.triple = "pdp11-unknown-none";
  Target processor = host_target();
  processor.cpu = "abacus";
  Target old = host_target();
  old.cpu = "i486";
  for (const Target& target : {triple, processor, old}) {
    CAPTURE(target.text());
    const auto object = compile(test::program_of(spmm_text), target, {});
    REQUIRE_FALSE(object.has_value());
    CHECK(object.error().kind == ErrorKind::unsupported);
    CHECK(object.error().message.find(target.text()) != std::string::npos);
  }
}

TEST_CASE("strict sums run in loop order and without fused operations") {
  // 2^53 + 1 loses the 1; the other order keeps both.
  Interpretation values;
  values.extents["i"] = 40;
  for (std::uint64_t i = 0; i < 40; ++i) {
    values.inputs["a"][{i}] = i == 0 ? 0x1p53 : i == 39 ? -0x1p53 : 1;
    values.inputs["b"][{i}] = 1;
  }
  const Jit jit = new_jit();
  for (const char* fact : {"", "  fact extent(i) = 40\n"}) {
    std::string text = dot_text;
    text.insert(text.find("  for"), fact);
    const auto strict =
        test::run_native(jit, test::program_of(text), values, host_target(), {.checked = false, .strict_fp = true});
    REQUIRE_MESSAGE(strict.has_value(), strict.error().message);
    CHECK(strict->at("s") == Entries{{{}, 0}});
    const auto fast = test::run_native(jit, test::program_of(text), values, host_target(), {});
    REQUIRE(fast.has_value());
    CHECK(fast->at("s").at({}) > 0);  // eight lanes or more: most ones are kept
  }
}

TEST_CASE("NaN and infinity survive, also next to inactive lanes") {
  const Jit jit = new_jit();
  Interpretation values;
  values.extents["i"] = 11;
  for (std::uint64_t i = 0; i < 11; ++i) {
    values.inputs["a"][{i}] = 1;
    values.inputs["b"][{i}] = i == 10 ? std::numeric_limits<double>::infinity() : 1;
  }
  for (const unsigned bits : {128u, 256u, 512u}) {
    const auto sum = test::run_native(jit, test::program_of(dot_text), values, test::host_with_bits(bits), {});
    REQUIRE(sum.has_value());
    CHECK(sum->at("s").at({}) == std::numeric_limits<double>::infinity());
    values.inputs["a"][{10}] = 0;
    const auto undefined = test::run_native(jit, test::program_of(dot_text), values, test::host_with_bits(bits), {});
    REQUIRE(undefined.has_value());
    CHECK(std::isnan(undefined->at("s").at({})));
    values.inputs["a"][{10}] = 1;
  }
}

TEST_CASE("checked code refuses what lies outside, naming storage, level and value") {
  const Jit jit = new_jit();
  const loop::Program program = test::program_of(spmm_text);
  const Expected<ObjectCode> object = compile(program, host_target(), {.checked = true, .strict_fp = false});
  REQUIRE(object.has_value());
  const Expected<LoadedCode> code = jit.load(*object, "spmm");
  REQUIRE(code.has_value());
  Interpretation values{{{"i", 2}, {"k", 3}, {"r", 32}}, {{"T", {{{0, 1}, 2}, {{1, 2}, 3}}}}, {}};
  const auto failure = [&](auto&& spoil) {
    test::PreparedRun run;
    run.fill(program, values);
    spoil(run);
    const std::int32_t status = code->function()(run.frame.data(), 0, 2, &run.worker);
    return std::vector<std::uint64_t>{static_cast<std::uint64_t>(status), run.worker.failed_storage,
                                      run.worker.failed_level, run.worker.failed_value};
  };
  const auto set = [](std::vector<unsigned char>& bytes, std::size_t place, std::uint32_t value) {
    std::memcpy(bytes.data() + place * sizeof value, &value, sizeof value);
  };
  const auto failed = static_cast<std::uint64_t>(KernelStatus::failed_check);
  CHECK(failure([](test::PreparedRun&) {})[0] == 0);
  // A coordinate as large as the extent, a fiber that ends before it begins, one that ends behind the array.
  CHECK(failure([&](test::PreparedRun& run) { set(run.arrays.at(0).crd[1], 1, 3); }) ==
        std::vector<std::uint64_t>{failed, 0, 1, 3});
  CHECK(failure([&](test::PreparedRun& run) { set(run.arrays.at(0).pos[1], 1, 9); })[0] == failed);
  CHECK(failure([&](test::PreparedRun& run) { set(run.arrays.at(0).pos[1], 0, 2); })[0] == failed);
}

TEST_CASE("checked code refuses places that name no value") {
  const Jit jit = new_jit();
  const loop::Program program = test::program_of(
      "program spmv\n  index i, j\n  input M : f64 {dense, compressed<32,32>} places<32>   access M[i,j]\n"
      "  input x : f64 {dense}   access x[j]\n  output y : f64 {dense}   access y[i]\n"
      "  for i: locate M, insert y\n    for j: drive M, locate x @vector\n      y += M * x\n");
  const Expected<ObjectCode> object = compile(program, host_target(), {.checked = true, .strict_fp = false});
  REQUIRE(object.has_value());
  const Expected<LoadedCode> code = jit.load(*object, "spmv");
  REQUIRE(code.has_value());
  const Interpretation values{{{"i", 2}, {"j", 3}}, {{"M", {{{0, 1}, 2}, {{1, 2}, 3}}}, {"x", {{{1}, 1}, {{2}, 1}}}}, {}};
  const auto status = [&](std::uint32_t place) {
    test::PreparedRun run;
    run.fill(program, values);
    if (place != 7) std::memcpy(run.arrays.at(0).places.data() + sizeof place, &place, sizeof place);
    return code->function()(run.frame.data(), 0, 2, &run.worker);
  };
  CHECK(status(7) == 0);  // two values behind one that no place names
  CHECK(status(3) == 0);
  CHECK(status(4) == static_cast<std::int32_t>(KernelStatus::failed_check));
  CHECK(status(0) == static_cast<std::int32_t>(KernelStatus::failed_check));
}

TEST_CASE("a set flag stops a kernel within a tenth of a second, inside one giant fiber too") {
  const Jit jit = new_jit();
  // Loops of 2^40 iterations over one element: its strides are 0.
  const std::string scalar = "  output s : f64 {} access s[]\n";
  const std::string vector = "program p\n  index i\n  input b : f64 {dense<strided>} access b[i]\n" + scalar;
  const std::string matrix =
      "program p\n  index i, j\n  input b : f64 {dense<strided>, dense<strided>} access b[i,j]\n" + scalar;
  for (const std::string& text :
       {vector + "  for i: locate b\n    s += b\n", vector + "  for i: locate b @vector\n    s += b\n",
        matrix + "  for i: locate b\n    for j: locate b\n      s += b\n",
        matrix + "  for i: locate b\n    for j: locate b @vector\n      s += b\n",
        matrix + "  fact extent(j) = 3\n  for i: locate b\n    for j: locate b\n      s += b\n",
        matrix + "  fact extent(j) = 3\n  for i: locate b\n    for j: locate b @vector\n      s += b\n"}) {
    const loop::Program program = test::program_of(text);
    CAPTURE(text);
    const Expected<ObjectCode> object = compile(program, host_target(), {});
    REQUIRE_MESSAGE(object.has_value(), object.error().message);
    const Expected<LoadedCode> code = jit.load(*object, "endless");
    REQUIRE(code.has_value());
    test::PreparedRun run;
    run.fill(program, {{{"i", 3}, {"j", 3}}, {}, {}});
    const Signature words = signature(program);
    for (std::size_t n = 0; n < words.words.size(); ++n) {
      if (words.words[n].kind == Word::Kind::stride) run.frame[n] = 0;
      if (words.words[n].kind == Word::Kind::extent && words.words[n].number == 0) run.frame[n] = 1ULL << 40;
    }
    run.root_extent = 1ULL << 40;
    std::atomic<std::int32_t> status{-1};
    std::atomic<bool> started{false};
    std::thread thread([&] {
      started = true;
      status = code->function()(run.frame.data(), 0, run.root_extent, &run.worker);
    });
    while (!started) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(status == -1);
    std::atomic_ref<std::uint8_t>(run.cancelled).store(1);
    const auto begin = std::chrono::steady_clock::now();
    thread.join();
    CHECK(status == static_cast<std::int32_t>(KernelStatus::cancelled));
    // The bound is generous because the machine may be shared.
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
  }
}

}  // namespace codegen_test
