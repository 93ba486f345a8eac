// Loops over adjacent elements that are one vector loop: which ones are, and that they compute and count what the loops
// one in the other do.
#include "engine/codegen/joined.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/codegen/structure.h"
#include "tests/files/loop_case.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"
#include "tests/unit/replaced.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/share.h"

namespace joined_test {

using namespace weft;

namespace {

/// The last statement of a product of a tensor of four modes with three matrices: SCALAR is f32 or f64, facts stand at
/// FACTS.
const char* const update =
    "program update\n  index i, j, r, s, t\n"
    "  input  T : SCALAR {compressed<32,32>, compressed<32,32>}   access T[i,j]\n"
    "  input  Y : SCALAR {dense, dense, dense}                    access Y[j,s,t]\n"
    "  input  B : f64 {dense, dense}                              access B[j,r]\n"
    "  output A : SCALAR {dense, dense, dense, dense}             access A[i,r,s,t]\nFACTS"
    "  for i: drive T, insert A\n    for j: drive T, locate Y, locate B\n      for r: locate B, insert A\n"
    "        for s: locate Y, insert A\n          for t: locate Y, insert A @vector\n            A += T * Y * B\n";

const std::vector<std::string> programs = {
    update,
    // three loops are joined, and two sums are formed in them
    "program three\n  index i, j, r, s, t\n"
    "  input  T : f64 {compressed<32,32>, compressed<32,32>}   access T[i,j]\n"
    "  input  Y : SCALAR {dense, dense, dense, dense}          access Y[j,r,s,t]\n"
    "  input  Z : f64 {dense, dense, dense}                    access Z[r,s,t]\n"
    "  output A : SCALAR {dense, dense, dense, dense}          access A[i,r,s,t]\n"
    "  output D : f64 {dense, dense, dense, dense}             access D[i,r,s,t]\nFACTS"
    "  for i: drive T, insert A, insert D\n    for j: drive T, locate Y\n"
    "      for r: locate Y, locate Z, insert A, insert D\n        for s: locate Y, locate Z, insert A, insert D\n"
    "          for t: locate Y, locate Z, insert A, insert D @vector\n            A += T * Y\n            D -= c0 * T "
    "* Y * Z\n",
    // a sum over both
    "program dot\n  index i, j, r, s, t\n"
    "  input  T : f64 {compressed<32,32>, compressed<32,32>}   access T[i,j]\n"
    "  input  Y : f64 {dense, dense, dense}                    access Y[j,s,t]\n"
    "  input  Z : SCALAR {dense, dense, dense}                 access Z[r,s,t]\n"
    "  output A : SCALAR {dense, dense}                        access A[i,r]\nFACTS"
    "  for i: drive T, insert A\n    for j: drive T, locate Y\n      for r: locate Z, insert A\n"
    "        for s: locate Y, locate Z\n          for t: locate Y, locate Z @vector\n            A += T * Y * Z\n",
    // levels bound late, inside and outside the adjacent ones
    "program late\n  index i, j, r, s, t\n"
    "  input  T : f64 {compressed<32,32>, compressed<32,32>}   access T[i,j]\n"
    "  input  Y : SCALAR {dense, dense, dense}                 access Y[r,s,t]\n"
    "  input  B : f64 {dense, dense}                           access B[r,j]\n"
    "  output A : SCALAR {dense, dense, dense}                 access A[i,s,t]\nFACTS"
    "  for i: drive T, insert A\n    for j: drive T\n      for r: locate B, locate B\n"
    "        for s: locate Y, locate Y\n          for t: locate Y, insert A, insert A @vector\n            A += T * Y "
    "* B\n",
    // a block between two nests, and a scalar that may be absent
    "program block\n  index i, j, k, s, t\n"
    "  input  T : f64 {compressed<32,32>, compressed<32,32>}              access T[i,j]\n"
    "  input  S : f64 {dense, compressed<32,32>}                          access S[i,k]\n"
    "  input  Y : SCALAR {dense, dense, dense}                            access Y[j,s,t]\n"
    "  output A : f64 {dense, dense, dense}                               access A[i,s,t]\n"
    "  fact finite(Y)\n  fact finite(T)\n  fact finite(S)\nFACTS"
    "  for i: drive T, locate S, insert A\n    with x[] : f64 {}\n      for k: drive S\n        x += S\n"
    "      with w[s,t] : SCALAR {dense, dense}\n"
    "        for j: drive T, locate Y\n          for s: locate Y, insert w\n            for t: locate Y, insert w "
    "@vector\n"
    "              w += T * Y\n"
    "        for s: locate w, insert A\n          for t: locate w, insert A @vector\n            A += x * w\n",
    // blocks of a result that grows, written once and added to
    "program grown\n  index i, j, k, s, t\n"
    "  input  T : f64 {compressed<32,32>, compressed<32,32>}                      access T[i,j]\n"
    "  input  S : f64 {dense}                                                     access S[k]\n"
    "  input  Y : SCALAR {dense, dense, dense}                                    access Y[j,s,t]\n"
    "  output A : SCALAR {compressed<64,32>, compressed<64,32>, dense, dense}     access A[i,j,s,t]\n"
    "  output D : SCALAR {compressed<64,32>, compressed<64,32>, dense, dense}     access D[i,j,s,t]\nFACTS"
    "  for i: drive T, append A, append D\n    for j: drive T, locate Y, append A, append D\n"
    "      for s: locate Y, insert A\n        for t: locate Y, insert A @vector\n          A += T * Y\n"
    "      for k: locate S\n        for s: locate Y, insert D\n          for t: locate Y, insert D @vector\n"
    "            D += T * S * Y\n",
    // a factor with a stride that the joined loops do not step; no root loop to cut
    "program rootless\n  index r, s, t\n"
    "  input  V : f64 {dense<strided>}       access V[r]\n"
    "  input  Y : f64 {dense, dense, dense}  access Y[r,s,t]\n"
    "  input  Z : SCALAR {dense, dense}      access Z[s,t]\n"
    "  output A : f64 {dense, dense}         access A[s,t]\n  output x : f64 {}   access x[]\nFACTS"
    "  for r: locate Y, locate V\n    for s: locate Y, insert A\n      for t: locate Y, insert A @vector\n        A += "
    "V * Y\n"
    "  for s: locate Z\n    for t: locate Z @vector\n      x += Z\n",
};

std::string with_facts(const std::string& text, const std::string& facts, const std::string& scalar = "f64") {
  return test::all_replaced(test::all_replaced(text, "FACTS", facts), "SCALAR", scalar);
}

/// Small integers; sparse tensors lack two of five, so that T has a row where S has none.
loop::Interpretation values_for(const loop::Program& program, std::uint64_t s, std::uint64_t t) {
  loop::Interpretation values{{{"i", 3}, {"j", 2}, {"k", 2}, {"r", 2}, {"s", s}, {"t", t}}, {}, {3}};
  for (const loop::Access& access : program.accesses) {
    const loop::Storage& storage = program.storages[access.storage];
    if (storage.role != loop::Role::input) continue;
    std::vector<std::uint64_t> extents;
    std::uint64_t all = 1;
    for (const loop::IndexId index : access.indices) {
      extents.push_back(values.extents.at(program.indices[index]));
      all *= extents.back();
    }
    const bool sparse = std::ranges::any_of(storage.levels, [](const Level& level) { return is_sparse(level.kind); });
    loop::Entries& entries = values.inputs[storage.name];
    for (std::uint64_t n = 0; n < all; ++n) {
      std::uint64_t rest = n;
      std::vector<std::uint64_t> coordinates(extents.size());
      for (std::size_t level = extents.size(); level-- > 0; rest /= extents[level])
        coordinates[level] = rest % extents[level];
      const std::uint64_t left_out = (n + static_cast<unsigned char>(storage.name[0])) % 5;
      if (!sparse || (left_out != 2 && left_out != 3)) entries[coordinates] = static_cast<double>((n * 7 + 3) % 11) - 4;
    }
  }
  return values;
}

std::size_t most_joined(const loop::Program& program, const loop::Block& block) {
  std::size_t most = 0;
  for (const loop::Statement& statement : block) {
    if (const auto* each = std::get_if<loop::For>(&statement.node))
      most = std::max({most, joined_loops(program, *each).size(), most_joined(program, each->body)});
    else if (const auto* with = std::get_if<loop::With>(&statement.node))
      most = std::max(most, most_joined(program, with->body));
  }
  return most;
}

/// How many loops are one, at most; 1: each vector loop is one of its own.
std::size_t most_joined(const std::string& text) {
  const loop::Program program = test::program_of(text);
  return most_joined(program, program.body);
}

/// How many of the loops over s and t are one, where the steps are these; A is the target.
std::size_t joined(const std::string& tensors, const std::string& steps_of_s, const std::string& steps_of_t,
                   const std::string& beside = "") {
  return most_joined("program p\n  index i, s, t\n  input T : f64 {compressed<32,32>} access T[i]\n" + tensors +
                     "  for i: drive T" + (tensors.find("A[i") == std::string::npos ? "" : ", insert A") +
                     "\n    for s: " + steps_of_s + "\n      for t: " + steps_of_t + " @vector\n        A += T * Y\n" +
                     beside);
}

const std::string block_target = "  output A : f64 {dense, dense, dense} access A[i,s,t]\n";

std::string input(const std::string& levels, const std::string& indices) {
  return "  input Y : f64 {" + levels + "} access Y[" + indices + "]\n";
}

}  // namespace

TEST_CASE("loops over adjacent elements of every access are joined") {
  for (const std::string& text : programs)
    CHECK(most_joined(with_facts(text, "")) == (text.starts_with("program three") ? 3 : 2));
  CHECK(joined(block_target + input("dense, dense", "s,t"), "locate Y, insert A", "locate Y, insert A") == 2);
  CHECK(joined("  output A : f64 {dense} access A[i]\n" + input("dense, dense", "s,t"), "locate Y", "locate Y") == 2);
}

TEST_CASE("an access that steps one of the loops, in another order or with a stride keeps them apart") {
  const auto factor = [](const std::string& levels, const std::string& indices, const std::string& s,
                         const std::string& t) {
    return joined(block_target + input(levels, indices), s + "insert A", t + "insert A");
  };
  CHECK(factor("dense", "s", "locate Y, ", "") == 1);
  CHECK(factor("dense", "t", "", "locate Y, ") == 1);
  CHECK(factor("dense, dense", "t,s", "", "locate Y, locate Y, ") == 1);
  CHECK(factor("dense, dense, dense", "s,t,i", "locate Y, ", "locate Y, locate Y, ") == 1);
  CHECK(factor("dense, dense, dense", "s,i,t", "locate Y, locate Y, ", "locate Y, ") == 1);
  CHECK(factor("dense<strided>, dense", "s,t", "locate Y, ", "locate Y, ") == 1);
  CHECK(factor("dense, dense<strided>", "s,t", "locate Y, ", "locate Y, ") == 1);
  const std::string block = input("dense, dense", "s,t");
  CHECK(joined("  output A : f64 {dense, dense} access A[i,s]\n" + block, "locate Y, insert A", "locate Y") == 1);
  CHECK(joined("  output A : f64 {dense, dense} access A[i,t]\n" + block, "locate Y", "locate Y, insert A") == 1);
  CHECK(joined("  output A : f64 {dense<strided>, dense, dense<strided>} access A[i,s,t]\n" + block,
               "locate Y, insert A", "locate Y, insert A") == 0);
}

TEST_CASE("the loop that the kernel takes a range of, and one with more in it, is joined with none") {
  const std::string tensors =
      "program p\n  index s, t\n  input Y : f64 {dense, dense} access Y[s,t]\n  output A : f64 {dense, dense} access "
      "A[s,t]\n";
  const std::string loops = "  for s: locate Y, insert A\n    for t: locate Y, insert A @vector\n      A += Y\n";
  CHECK(most_joined(tensors + loops) == 1);
  CHECK(most_joined(tensors + loops + loops) == 2);  // no root loop
  CHECK(joined(block_target + "  output D : f64 {dense, dense} access D[s,t]\n" + input("dense, dense", "s,t"),
               "locate Y, insert A, insert D", "locate Y, insert A",
               "      for t: locate Y, insert D @vector\n        D += T\n") == 1);
}

TEST_CASE("joined loops compute and count what the loops one in the other do") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> extents = {
      {0, 0}, {0, 7}, {9, 0}, {1, 1}, {1, 8}, {10, 1}, {2, 7}, {8, 8}, {10, 10}, {16, 16}, {7, 50}, {50, 9}};
  // Nearly all the time is LLVM's, so that machines, options and scalars are taken in turns.
  struct Variant {
    unsigned bits;
    CodeOptions options;
    bool counts;
  };
  const std::vector<Variant> variants = {{512, {}, false},
                                         {256, {}, true},
                                         {512, {.checked = true}, false},
                                         {128, {}, false},
                                         {512, {.strict_fp = true}, true}};
  std::size_t turn = 0;
  for (const std::string& text : programs)
    for (const auto& [s, t] : extents)
      for (const bool known_s : {false, true})
        for (const bool known_t : {false, true}) {
          ++turn;
          if (test::is_sanitized() && turn % 5 != 0) continue;
          if (!test::is_drawn(turn, 7)) continue;  // 7 has no factor in common with any of the turns
          std::string facts;
          if (known_s) facts += "  fact extent(s) = " + std::to_string(s) + "\n";
          if (known_t) facts += "  fact extent(t) = " + std::to_string(t) + "\n";
          if (known_s && known_t && text.find("[r") != std::string::npos) facts += "  fact extent(r) = 2\n";
          const std::string written = with_facts(text, facts, turn % 3 == 0 ? "f32" : "f64");
          const loop::Program program = test::program_of(written);
          const loop::Interpretation values = values_for(program, s, t);
          const auto expected = loop::interpret(program, values);
          REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
          const Variant& variant = variants[turn % variants.size()];
          const Target target = test::host_with_bits(variant.bits);
          INFO(written, "s = ", s, ", t = ", t, ", ", variant.bits, " bits, ", variant.options.text());
          const auto found = test::run_native(*jit, program, values, target, variant.options, {1 + turn % 3});
          REQUIRE_MESSAGE(found.has_value(), found.error().message);
          CHECK(test::difference(program, *expected, *found) == "");
          if (!signature(program).appended.empty()) {
            const auto entries = test::symbolic_sizes(*jit, program, values, target, variant.options, {1});
            REQUIRE_MESSAGE(entries.has_value(), entries.error().message);
            for (const auto& [name, by_level] : *entries)
              CHECK_MESSAGE(by_level[1] == (s * t > 0 ? 4 : 0), name);  // as many as T has
          }
          if (!variant.counts) continue;
          const auto iterations = loop::iterations(program, values);
          REQUIRE(iterations.has_value());
          auto counted = test::count_native(*jit, program, values, target, variant.options, {1 + turn % 3});
          REQUIRE(counted.has_value());
          counted->resize(iterations->size());
          const bool reads_block = text.find("with w[s,t]") != std::string::npos;  // also where nothing was added to it
          for (std::size_t n = 0; n < counted->size(); ++n)
            CHECK((reads_block ? (*counted)[n] >= (*iterations)[n] : (*counted)[n] == (*iterations)[n]));
        }
}

TEST_CASE("few elements are written out, many in blocks with the rest behind them") {
  const auto code = [](std::uint64_t s, std::uint64_t t) {
    const std::string facts =
        "  fact extent(s) = " + std::to_string(s) + "\n  fact extent(t) = " + std::to_string(t) + "\n";
    const Expected<std::string> text = llvm_text(test::program_of(with_facts(update, facts)), test::host_with_bits(256),
                                                 {.checked = false, .strict_fp = false});
    REQUIRE_MESSAGE(text.has_value(), text.error().message);
    return *text;
  };
  const std::string four = "call contract <4 x double> @llvm.fmuladd.v4f64";
  const std::string two = "call contract <2 x double> @llvm.fmuladd.v2f64";
  const std::string small = code(10, 10);
  CHECK(test::count(small, four) == 25);
  CHECK(test::count(small, two) == 0);
  const std::string large = code(25, 10);  // 15 blocks of 16, two vectors and a half
  CHECK(test::count(large, four) == 4 + 2);
  CHECK(test::count(large, two) == 1);
  CHECK(large.find("masked") == std::string::npos);
}

TEST_CASE("a joined loop looks at the cancellation flag, and goes on behind a strip") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  constexpr std::uint64_t rows = 1025;
  constexpr std::uint64_t columns = 1027;
  static_assert(rows * columns > (1 << 20));
  for (const std::string facts : {"", "  fact extent(s) = 1025\n  fact extent(t) = 1027\n"}) {
    const loop::Program program = test::program_of(
        "program p\n  index i, s, t\n  input b : f32 {dense} access b[i]\n"
        "  output A : f32 {dense, dense, dense} access A[i,s,t]\n" +
        facts + "  for i: locate b, insert A\n    for s: insert A\n      for t: insert A @vector\n        A += b\n");
    const Expected<ObjectCode> object = compile(program, host_target(), {});
    REQUIRE_MESSAGE(object.has_value(), object.error().message);
    const Expected<LoadedCode> code = jit->load(*object, "long");
    REQUIRE(code.has_value());
    test::PreparedRun run;
    run.fill(program, {{{"i", 1}, {"s", 1}, {"t", 1}}, {{"b", {{{0}, 3}}}}, {}});
    std::vector<float> values(rows * columns + 1, 0);
    const Signature words = signature(program);
    for (std::size_t n = 0; n < words.words.size(); ++n) {
      const Word& word = words.words[n];
      if (word.kind == Word::Kind::extent && word.number > 0) run.frame[n] = word.number == 1 ? rows : columns;
      if (word.kind == Word::Kind::values && program.storages[word.storage].name == "A")
        run.frame[n] = reinterpret_cast<std::uintptr_t>(values.data());
    }
    CHECK(code->function()(run.frame.data(), 0, 1, &run.worker) == static_cast<std::int32_t>(KernelStatus::done));
    CHECK(std::count(values.begin(), values.end(), 3.0f) == rows * columns);
    CHECK(values.back() == 0);
    run.cancelled = 1;
    CHECK(code->function()(run.frame.data(), 0, 1, &run.worker) == static_cast<std::int32_t>(KernelStatus::cancelled));
  }
}

}  // namespace joined_test
