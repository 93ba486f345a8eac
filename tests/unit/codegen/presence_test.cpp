#include "engine/codegen/presence.h"

#include <doctest/doctest.h>

#include "engine/loop/presence.h"

namespace presence_test {

using namespace weft;

namespace {

loop::Program program_of(const std::string& text) {
  const Expected<loop::Program> program = loop::parse(text);
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  return *program;
}

/// A scalar summed over `sum` and multiplied into an entry of R. T has two compressed levels.
loop::Program summed(const std::string& sum, const std::string& facts, const std::string& result = "compressed<64,32>") {
  return program_of(
      "program p\n  index i, j, k\n"
      "  input T : f64 {compressed<32,32>, compressed<32,32>, compressed<32,32>} access T[i,j,k]\n"
      "  input B : f64 {dense, dense} access B[j,k]\n"
      "  input S : f64 {dense, compressed<32,32>} access S[j,k]\n"
      "  output R : f64 {" + result + "} access R[j]\n" + facts +
      "  for i: drive T\n    for j: drive T, locate B, locate S, " +
      (result == "dense" ? "insert" : "append") + " R\n      with x[] : f64 {}\n" + sum + "        R += x\n");
}

const loop::Block& leaf(const loop::Program& program) {
  const auto& outer = std::get<loop::For>(program.body[0].node);
  return std::get<loop::For>(outer.body[0].node).body;
}

}  // namespace

TEST_CASE("what always accumulates needs no flag") {
  const std::string below = "        for k: drive T\n          x += T\n";
  const std::string range = "        for k: locate B\n          x += B\n";
  const std::string fiber = "        for k: drive S\n          x += S\n";
  const std::string both = "        for k: drive T, drive S\n          x += T * S\n";
  const auto flag = [](const loop::Program& program) {
    const bool needed = loop::may_be_absent(program, 4);
    CHECK(certainly_accumulates(program, leaf(program), 3) == !needed);
    return needed;
  };
  CHECK_FALSE(flag(summed(below, "")));                      // below a stored coordinate something is stored
  CHECK_FALSE(flag(summed(range, "  fact extent(k) = 4\n")));
  CHECK(flag(summed(range, "  fact extent(k) = 0\n")));
  CHECK(flag(summed(range, "")));                            // the range may be empty
  CHECK(flag(summed(fiber, "")));                            // below a dense level a fiber may be
  CHECK(flag(summed(both, "")));                             // they may not meet
}

TEST_CASE("zero does as well as absent in a dense result") {
  const std::string fiber = "        for k: drive S\n          x += S\n";
  CHECK_FALSE(loop::may_be_absent(summed(fiber, "", "dense"), 4));
  loop::Program scaled = summed(fiber, "", "dense");
  auto& outer = std::get<loop::For>(scaled.body[0].node);
  auto& inner = std::get<loop::For>(outer.body[0].node);
  auto& live = std::get<loop::With>(inner.body[0].node);
  std::get<loop::Accumulate>(live.body[1].node).factors.push_back(1);  // B may hold NaN
  CHECK(loop::may_be_absent(scaled, 4));
  CHECK(flagged_factors(scaled, std::get<loop::Accumulate>(live.body[1].node)) == std::vector<loop::StorageId>{4});
  scaled.facts.emplace_back(loop::FiniteFact{1});
  CHECK_FALSE(loop::may_be_absent(scaled, 4));
}

}  // namespace presence_test
