// Loops over a few coordinates are written out, and what they sum in rows of a workspace needs no memory.
#include <doctest/doctest.h>

#include <string>

#include "engine/codegen/signature.h"
#include "engine/codegen/structure.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"

namespace tile_test {

using namespace weft;

namespace {

loop::Program blocked(unsigned rows, unsigned columns, unsigned width) {
  return test::program_of(R"(program blocked
  index  i, j, r, c, s
  input  B : f64 {dense, compressed<32,32>, dense, dense}   access B[i,j,r,c]
  input  X : f64 {dense, dense, dense}                      access X[j,c,s]
  output Y : f64 {dense, dense, dense}                      access Y[i,r,s]
  fact   extent(r) = )" + std::to_string(rows) + "\n  fact   extent(c) = " + std::to_string(columns) +
                                   "\n  fact   extent(s) = " + std::to_string(width) + R"(
  for i: locate B, insert Y @parallel(Y: owner)
    with t[r,s] : f64 {dense, dense}
      for j: drive B, locate X
        for r: locate B, insert t
          for c: locate B, locate X
            for s: locate X, insert t @vector
              t += B * X
      for r: locate t, insert Y
        for s: locate t, insert Y @vector
          Y += t
)");
}

loop::StorageId tile_of(const loop::Program& program) {
  return static_cast<loop::StorageId>(std::ranges::find(program.storages, "t", &loop::Storage::name) - program.storages.begin());
}

}  // namespace

TEST_CASE("a workspace over loops that are written out is in registers") {
  const auto needs_memory = [](const loop::Program& program) { return !signature(program).scratch.empty(); };
  CHECK(is_register_tile(blocked(3, 3, 32), tile_of(blocked(3, 3, 32))));
  CHECK_FALSE(needs_memory(blocked(3, 3, 32)));
  CHECK(needs_memory(blocked(8, 3, 32)));   // more elements than registers hold
  CHECK(needs_memory(blocked(9, 1, 8)));    // too many iterations
  CHECK(needs_memory(blocked(8, 8, 16)));   // more vectors than are written out
  CHECK(needs_memory(blocked(2, 2, 200)));
}

TEST_CASE("rows of an extent that is not known are no tile, beside an extent of 0 neither") {
  std::string text = loop::print(blocked(0, 3, 32));
  const std::size_t fact = text.find("  fact   extent(s) = 32\n");
  REQUIRE(fact != std::string::npos);
  text.erase(fact, std::string("  fact   extent(s) = 32\n").size());
  const loop::Program unknown = test::program_of(text);
  CHECK_FALSE(is_register_tile(unknown, tile_of(unknown)));
  // 4 times 2^62 is 0 in 64 bits.
  const auto wide = [](std::uint64_t rows, std::uint64_t width) {
    std::string many = loop::print(blocked(4, 3, 32));
    many.replace(many.find("extent(r) = 4"), 13, "extent(r) = " + std::to_string(rows));
    many.replace(many.find("extent(s) = 32"), 14, "extent(s) = " + std::to_string(width));
    return test::program_of(many);
  };
  CHECK(is_register_tile(wide(4, 32), tile_of(wide(4, 32))));
  CHECK_FALSE(is_register_tile(wide(4, std::uint64_t{1} << 62), tile_of(wide(4, std::uint64_t{1} << 62))));
}

TEST_CASE("a loop over one entry tells no coordinate: what is read there is in memory") {
  const auto read_at = [](const std::string& fact) {
    const auto program = loop::parse(R"(program read
  index  j, k, r, i
  input  C : f64 {dense, dense}                              access C[k,r]
  input  B : f64 {dense, dense}                              access B[j,r]
  input  T : f64 {dense, compressed<32,32>, )" + fact + R"(}   access T[j,i,k]
  output A : f64 {dense, dense}                              access A[i,r]
  fact   extent(k) = 5
  fact   extent(r) = 2
  for j: locate B, locate T
    with t[k,r] : f64 {dense, dense}
      for k: locate C, insert t
        for r: locate C, locate B, insert t @vector
          t += C * B
      for i: drive T, insert A
        for k: drive T, locate t
          for r: locate t, insert A         @vector
            A += T * t
)");
    REQUIRE_MESSAGE(program.has_value(), program.error().message);
    return *program;
  };
  const loop::Program one = read_at("singleton<32>");
  CHECK_FALSE(is_register_tile(one, tile_of(one)));
  CHECK(llvm_text(one, test::host_with_bits(512), {}).has_value());
}

TEST_CASE("the loops of a block leave nothing but vectors") {
  const auto code = llvm_text(blocked(3, 3, 16), test::host_with_bits(512), {});
  REQUIRE_MESSAGE(code.has_value(), code.error().message);
  CHECK(code->find("for r: locate B") == std::string::npos);  // blocks are named after loops that run
  CHECK(code->find("for c: locate B") == std::string::npos);
  const auto counted = llvm_text(blocked(3, 3, 16), test::host_with_bits(512), {.count = true});
  REQUIRE(counted.has_value());
}

}  // namespace tile_test
