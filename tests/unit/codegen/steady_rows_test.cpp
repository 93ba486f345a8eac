// Rows of inputs that a loop does not change are read before it, as far as there are registers.
#include <doctest/doctest.h>

#include <string>

#include "engine/codegen/structure.h"
#include "tests/unit/codegen/jit_run.h"
#include "tests/unit/loop_programs.h"

namespace steady_rows_test {

using namespace weft;

namespace {

loop::Program sampled(unsigned rank) {
  return test::program_of(R"(program sampled
  index  i, j, r
  input  M : f64 {dense, compressed<32,32>}   access M[i,j]
  input  A : f64 {dense, dense}               access A[i,r]
  input  B : f64 {dense, dense}               access B[j,r]
  output P : f64 {dense, dense}               access P[i,j]
  fact   extent(r) = )" + std::to_string(rank) + R"(
  for i: locate M, locate A, insert P
    for j: drive M, locate B, insert P
      for r: locate A, locate B @vector
        P += M * A * B
)");
}

const loop::For& inner(const loop::Program& program) {
  return std::get<loop::For>(std::get<loop::For>(program.body.front().node).body.front().node);
}

/// Whether values are addressed inside the loop over j.
bool reads_in_loop(const std::string& code, const std::string& values) {
  const std::size_t loop = code.find("; for j: drive M");
  REQUIRE(loop != std::string::npos);
  return code.find("%\"values " + values + "\"", loop) != std::string::npos;
}

}  // namespace

TEST_CASE("a row is steady where all but its last level is bound before the loop") {
  const loop::Program program = sampled(16);
  const std::vector<SteadyRow> rows = steady_rows(program, inner(program), {1, 1, 0, 1});
  REQUIRE(rows.size() == 1);
  CHECK(program.accesses[rows[0].access].name == "A");
  CHECK(rows[0].row == 2);
  CHECK(steady_rows(program, std::get<loop::For>(program.body.front().node), {0, 0, 0, 0}).empty());
  CHECK(steady_rows(sampled(4000), inner(program), {1, 1, 0, 1}).empty());  // not unrolled
}

TEST_CASE("steady rows are loaded once") {
  const auto loads = [](unsigned rank, const CodeOptions& options) {
    const auto code = llvm_text(sampled(rank), test::host_with_bits(256), options);
    REQUIRE_MESSAGE(code.has_value(), code.error().message);
    CHECK(reads_in_loop(*code, "B"));
    return reads_in_loop(*code, "A");
  };
  CHECK_FALSE(loads(16, {}));
  CHECK(loads(128, {}));  // more than there are registers for
  CHECK(loads(16, {.checked = true}));
}

}  // namespace steady_rows_test
