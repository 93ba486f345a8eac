// Dense products in tiles: that they compute what the loops say, whatever the extents, layouts, machines and cuts, and which nests are
// such.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "engine/codegen/target.h"
#include "engine/loop/dense_product.h"
#include "engine/loop/print.h"
#include "runtime/level_traits.h"
#include "tests/files/loop_case.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"
#include "tests/unit/replaced.h"
#include "tests/unit/sanitized.h"
#include "tests/unit/share.h"

namespace dense_tiles_test {

using namespace weft;

namespace {

const std::string head = "program product\n  index b, i, j, k\n";
const std::string matrices =
    "  input A : SCALAR {dense, dense} access A[i,j]\n  input B : SCALAR {dense, dense} access B[j,k]\n"
    "  output C : SCALAR {dense, dense} access C[i,k]\n";

/// Nests that are one dense product each, the letter behind `fact extent(` telling which extents are always known: k.
const std::vector<std::string> products = {
    // a row in registers, as it is lowered
    matrices +
        "FACTS  for i: locate A, insert C @parallel(C: owner)\n    with w[k] : SCALAR {dense}\n      for j: locate A, locate B\n"
        "        for k: locate B, insert w @vector\n          w += A * B\n"
        "      for k: locate w, insert C @vector\n        C += w\n",
    // a long row in memory
    matrices +
        "FACTS  for i: locate A, insert C\n    for j: locate A, locate B\n      for k: locate B, insert C @vector\n        C += c0 * A * "
        "B\n",
    // sums over adjacent elements of both: B is transposed
    "  input A : SCALAR {dense, dense} access A[i,j]\n  input B : SCALAR {dense, dense} access B[k,j]\n"
    "  output C : SCALAR {dense, dense} access C[i,k]\nFACTSROWS"
    "  for i: locate A, insert C\n    for k: locate B, insert C\n      for j: locate A, locate B @vector\n        C -= A * B\n",
    // both transposed, and columns that lie apart
    "  input A : SCALAR {dense<strided>, dense<strided>} access A[j,i]\n  input B : SCALAR {dense<strided>, dense<strided>} access B[k,j]\n"
    "  output C : SCALAR {dense, dense} access C[i,k]\nFACTSROWS"
    "  for i: insert C\n    for k: locate B, insert C\n      for j: locate A, locate A, locate B\n        C += A * B\n",
    // a batch, whose loop is the root, with a factor of its own
    "  input A : SCALAR {dense, dense, dense} access A[b,i,j]\n  input B : SCALAR {dense, dense, dense} access B[b,j,k]\n"
    "  input D : f64 {dense} access D[b]\n  output C : SCALAR {dense, dense, dense} access C[b,i,k]\nFACTS"
    "  for b: locate A, locate B, locate D, insert C\n    for i: locate A, insert C\n      for j: locate A, locate B\n"
    "        for k: locate B, insert C @vector\n          C += A * D * B\n",
    // a batch inside the rows
    "  input A : SCALAR {dense, dense, dense} access A[b,i,j]\n  input B : SCALAR {dense, dense, dense} access B[j,b,k]\n"
    "  output C : SCALAR {dense, dense, dense} access C[i,b,k]\nFACTS"
    "  for i: insert C\n    for b: locate A, locate A, insert C\n      with w[k] : SCALAR {dense}\n        for j: locate A, locate B, "
    "locate B\n"
    "          for k: locate B, insert w @vector\n            w += A * B\n        for k: locate w, insert C @vector\n          C += w\n",
    // below a sparse loop, whose entry is a factor
    "  input S : SCALAR {compressed<32,32>} access S[b]\n"
    "  input A : SCALAR {dense, dense, dense} access A[b,i,j]\n  input B : SCALAR {dense, dense} access B[j,k]\n"
    "  output C : SCALAR {dense, dense, dense} access C[b,i,k]\nFACTS"
    "  for b: drive S, locate A, insert C\n    for i: locate A, insert C\n      with w[k] : SCALAR {dense}\n        for j: locate A, "
    "locate B\n"
    "          for k: locate B, insert w @vector\n            w += S * A * B\n        for k: locate w, insert C @vector\n          C += "
    "w\n",
    // two row indices and a right matrix of two, one of them bound around
    "  input A : SCALAR {dense, dense, dense} access A[i,b,j]\n  input B : SCALAR {dense, dense} access B[j,k]\n"
    "  output C : SCALAR {dense, dense, dense} access C[i,b,k]\nFACTS"
    "  for i: locate A, insert C\n    for b: locate A, insert C\n      for j: locate A, locate B\n        for k: locate B, insert C "
    "@vector\n"
    "          C += A * B\n",
};

struct Extents {
  std::uint64_t i = 1;
  std::uint64_t j = 1;
  std::uint64_t k = 1;
};

std::string fact(const std::string& index, std::uint64_t extent) {
  return "  fact extent(" + index + ") = " + std::to_string(extent) + "\n";
}

/// The columns are always known, the terms where `knows_terms` says so, and the rows where the product needs them.
loop::Program program_with(const std::string& product, const Extents& extents, bool knows_terms, const std::string& scalar) {
  const std::string facts = (knows_terms ? fact("j", extents.j) : "") + fact("k", extents.k);
  const std::string with_facts = test::all_replaced(test::all_replaced(head + product, "FACTS", facts), "ROWS", fact("i", extents.i));
  return test::program_of(test::all_replaced(with_facts, "SCALAR", scalar));
}

loop::Interpretation drawn_values(const loop::Program& program, const Extents& extents, std::mt19937_64& random) {
  loop::Interpretation values{{{"b", 3}, {"i", extents.i}, {"j", extents.j}, {"k", extents.k}}, {}, {3}};
  for (const loop::Access& access : program.accesses) {
    const loop::Storage& storage = program.storages[access.storage];
    if (storage.role != loop::Role::input) continue;
    std::vector<std::uint64_t> of_levels;
    for (const loop::IndexId index : access.indices) of_levels.push_back(values.extents.at(program.indices[index]));
    loop::Entries& entries = values.inputs[storage.name] = test::random_entries(random, of_levels, 1);
    if (!is_dense(storage.levels[0])) std::erase_if(entries, [](const auto& entry) { return entry.first[0] == 1; });
  }
  return values;
}

std::optional<loop::DenseProduct> product_of(const loop::Program& program) {
  const auto* root = std::get_if<loop::For>(&program.body.front().node);
  REQUIRE(root != nullptr);
  return loop::dense_product(program, *root, std::vector<std::uint32_t>(program.accesses.size(), 0));
}

bool is_product(const std::string& text) { return product_of(test::program_of(head + text)).has_value(); }

}  // namespace

TEST_CASE("dense products of every extent, layout and machine compute what their loops say, cut anywhere") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  std::vector<Extents> drawn = {{1, 1, 1},    {0, 3, 2},  {5, 0, 9},    {70, 129, 3}, {24, 128, 32},
                                {17, 257, 8}, {8, 4, 70}, {33, 16, 64}, {16, 40, 33}};
  std::mt19937_64 random(static_cast<std::uint32_t>(test::draw()) + 5);
  while (drawn.size() < 26) {
    // Several blocks of terms, or rows and columns of several tiles: interpreting both takes long.
    const bool many_terms = random() % 3 == 0;
    const std::uint64_t most = many_terms ? 14 : 70;
    drawn.push_back({1 + random() % most, 1 + random() % (many_terms ? 300 : 12), 1 + random() % most});
  }
  const std::vector<unsigned> bits = {512, 256, 128};
  std::size_t turn = 0;
  for (const std::string& product : products)
    for (const Extents& extents : drawn) {
      ++turn;
      if (!test::is_drawn(turn, test::is_sanitized() ? 28 : 9)) continue;
      const loop::Program program = program_with(product, extents, turn % 2 == 0, turn % 5 == 0 ? "f32" : "f64");
      const loop::Interpretation values = drawn_values(program, extents, random);
      const auto expected = loop::interpret(program, values);
      REQUIRE_MESSAGE(expected.has_value(), expected.error().message);
      std::vector<std::uint64_t> cuts;
      const bool single = turn % 4 == 1;
      for (std::uint64_t cut = single ? 1 : 1 + random() % 20; cut < extents.i; cut += single ? 1 : 1 + random() % 20) cuts.push_back(cut);
      if (product.find("for b: drive") != std::string::npos || product.find("for b: locate A, locate B, locate D") != std::string::npos)
        cuts = {1};
      const Target target = test::host_with_bits(bits[turn % bits.size()]);
      INFO(loop::print(program), "i = ", extents.i, ", j = ", extents.j, ", ", bits[turn % bits.size()], " bits");
      const auto found = test::run_native(*jit, program, values, target, {}, cuts);
      REQUIRE_MESSAGE(found.has_value(), found.error().message);
      CHECK(test::difference(program, *expected, *found) == "");
    }
}

TEST_CASE("an element is the same to the last bit whatever rows stand beside it") {
  const Expected<Jit> jit = Jit::create();
  REQUIRE_MESSAGE(jit.has_value(), jit.error().message);
  std::mt19937_64 random(3);
  for (const std::string& product : {products[0], products[2], products[5]}) {
    const Extents extents{37, 140, 13};
    const loop::Program program = program_with(product, extents, true, "f64");
    loop::Interpretation values = drawn_values(program, extents, random);
    for (auto& [name, entries] : values.inputs)
      for (auto& [coordinates, value] : entries) value = std::uniform_real_distribution<double>(-1, 1)(random);
    const auto whole = test::run_native(*jit, program, values, host_target(), {});
    REQUIRE_MESSAGE(whole.has_value(), whole.error().message);
    for (const std::vector<std::uint64_t>& cuts : {std::vector<std::uint64_t>{1, 2, 5, 20, 36}, {17}, {6, 12, 24, 25, 26}}) {
      const auto parts = test::run_native(*jit, program, values, host_target(), {}, cuts);
      REQUIRE_MESSAGE(parts.has_value(), parts.error().message);
      CHECK(*parts == *whole);
    }
  }
}

TEST_CASE("the loops of a product: rows, terms and columns in any order, and others around them") {
  const auto names = [](const std::string& product) {
    const loop::Program program = program_with(product, {40, 50, 60}, true, "f64");
    const auto found = product_of(program);
    if (!found) return std::string("none");
    const auto name = [&](const loop::For* each) { return program.indices[each->index]; };
    std::string all;
    for (const loop::For* outer : found->outer) all += name(outer) + " ";
    return all + name(found->row) + name(found->sum) + name(found->column) + " " + program.accesses[found->left].name +
           program.accesses[found->right].name + program.accesses[found->target].name;
  };
  CHECK(names(products[0]) == "ijk ABC");
  CHECK(names(products[1]) == "ijk ABC");
  CHECK(names(products[2]) == "ijk ABC");
  CHECK(names(products[3]) == "ijk ABC");
  CHECK(names(products[4]) == "b ijk ABC");
  CHECK(names(products[5]) == "b ijk ABC");
  CHECK(names(products[6]) == "none");  // but the loop inside is one
  CHECK(names(products[7]) == "i bjk ABC");
}

TEST_CASE("what is no product of two dense matrices alone is none") {
  const std::string loops = "  for i: locate A, insert C\n    for j: locate A, locate B\n      for k: locate B, insert C\n";
  CHECK(is_product(test::all_replaced(matrices, "SCALAR", "f64") + loops + "        C += A * B\n"));
  const auto with_inputs = [&](const std::string& a, const std::string& b, const std::string& c, const std::string& steps) {
    return is_product("  input A : f64 {" + a + "\n  input B : f64 {" + b + "\n  output C : f64 {" + c + "\n" + steps);
  };
  const std::string plain_a = "dense, dense} access A[i,j]";
  const std::string plain_b = "dense, dense} access B[j,k]";
  const std::string plain_c = "dense, dense} access C[i,k]";
  const std::string body = loops + "        C += A * B\n";
  CHECK(with_inputs(plain_a, plain_b, plain_c, body));
  CHECK_FALSE(with_inputs(plain_a, plain_b, plain_c, loops + "        C += A * B\n        C += A * B\n"));
  CHECK_FALSE(with_inputs(plain_a, plain_b, "dense, dense<strided>} access C[i,k]", body));
  CHECK_FALSE(
      with_inputs("dense, compressed<32,32>} access A[i,j]", plain_b, plain_c,
                  "  for i: locate A, insert C\n    for j: drive A, locate B\n      for k: locate B, insert C\n        C += A * B\n"));
  CHECK_FALSE(with_inputs(plain_a, "dense} access B[k]", plain_c,  // no matrix
                          "  for i: locate A, insert C\n    for j: locate A\n      for k: locate B, insert C\n        C += A * B\n"));
  CHECK_FALSE(with_inputs("dense} access A[j]", plain_b, "dense} access C[k]",  // no rows
                          "  for j: locate A, locate B\n    for k: locate B, insert C\n      C += A * B\n"));
}

TEST_CASE("a tile loads each vector of the right matrix once for all its rows, and keeps its sums in registers") {
  if (vector_bits(host_target()) != 512) return;
  const Expected<std::string> assembly = assembly_text(program_with(products[0], {64, 64, 64}, true, "f64"), test::host_with_bits(512), {});
  REQUIRE_MESSAGE(assembly.has_value(), assembly.error().message);
  // Two panels of four vectors, in one loop: tiles of six rows, and of two for the rest.
  CHECK(test::count(*assembly, "vfmadd231pd") == 6 * 4 + 2 * 4);
  CHECK(test::count(*assembly, "%zmm") < 350);
  CHECK(test::count(*assembly, "64-byte Spill") == 0);
}

TEST_CASE("narrow products have tiles of more rows, wide ones panels of equal width") {
  const auto sums = [](std::uint64_t columns, unsigned bits) {
    const Expected<std::string> text = llvm_text(program_with(products[0], {64, 64, columns}, true, "f64"), test::host_with_bits(bits), {});
    REQUIRE_MESSAGE(text.has_value(), text.error().message);
    return test::count(*text, "@llvm.fmuladd") - 1;  // the declaration
  };
  CHECK(sums(8, 256) == 6 * 2 + 2 * 2);
  CHECK(sums(12, 256) == 4 * 3 + 2 * 3);
  CHECK(sums(4, 256) == 8 + 2);
  CHECK(sums(16, 256) == 6 * 2 + 2 * 2);  // two panels of two
  CHECK(sums(20, 256) == 4 * 3 + 2 * 3 + 6 * 2 + 2 * 2);
}

}  // namespace dense_tiles_test
