#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "engine/loop/presence.h"

namespace needed_facts_test {

using namespace weft;
using namespace weft::loop;

namespace {

// The facts that stay, in the words of the text; what is left must verify.
std::string needed(const std::string& text) {
  const Expected<Program> program = parse(text);
  REQUIRE_MESSAGE(program, program.error().message);
  const Expected<void> verified = verify(*program);
  REQUIRE_MESSAGE(verified, verified.error().message);
  const Program fewer = with_needed_finite_facts(*program);
  CHECK(verify(fewer));
  std::string names;
  for (const Fact& fact : fewer.facts) {
    const auto* finite = std::get_if<FiniteFact>(&fact);
    if (finite == nullptr) continue;
    names += (names.empty() ? "" : " ") + fewer.storages[finite->storage].name;
    // Each one is needed: without it the program is refused, or a number may be absent that with it may not.
    Program without = fewer;
    std::erase(without.facts, fact);
    bool changed = !verify(without);
    for (StorageId storage = 0; !changed && storage < fewer.storages.size(); ++storage)
      changed = may_be_absent(without, storage) != may_be_absent(fewer, storage);
    CHECK(changed);
  }
  // Nothing else is taken away.
  const auto others = [](const Program& one) {
    return std::ranges::count_if(one.facts, [](const Fact& fact) { return !std::holds_alternative<FiniteFact>(fact); });
  };
  CHECK(others(fewer) == others(*program));
  return names;
}

}  // namespace

// A row is added to its target alone: a row into which nothing was accumulated adds zeros to an entry that is there, or that a dense
// level holds as zero anyway.
TEST_CASE("a row in registers needs no finite operand, though nothing may be accumulated into it") {
  CHECK(needed(R"(program p
  index  i, k, r
  input  M : f64 {dense, compressed<32,32>}   access M[i,k]
  input  B : f64 {dense, dense}               access B[k,r]
  output A : f64 {dense, dense}               access A[i,r]
  fact   extent(r) = 8
  fact   finite(M)
  fact   finite(B)
  for i: drive M, insert A
    with row[r] : f64 {dense}
      for k: drive M, locate B
        for r: locate B, insert row @vector
          row += M * B
      for r: locate row, insert A @vector
        A += row
)").empty());
}

// Below a stored coordinate something is stored: k has an iteration, and each writes the whole row.
TEST_CASE("a row that is fully written whenever it is read needs no finite operand") {
  CHECK(needed(R"(program p
  index  i, j, k, r
  input  T : f64 {compressed<32,32>, compressed<32,32>, compressed<32,32>}   access T[i,j,k]
  input  C : f64 {dense, dense}   access C[k,r]
  input  B : f64 {dense, dense}   access B[j,r]
  output A : f64 {dense, dense}   access A[i,r]
  fact   finite(T)
  fact   finite(B)
  fact   finite(C)
  for i: drive T, insert A
    for j: drive T, locate B
      with x[r] : f64 {dense}
        for k: drive T, locate C
          for r: locate C, insert x @vector
            x += T * C
        for r: locate x, locate B, insert A @vector
          A += x * B
)").empty());
}

// What the writer's loop over j leaves out the reader's leaves out too.
TEST_CASE("a workspace that is written and read under the same filter needs no finite operand") {
  const auto text = [](const std::string& reader) {
    return R"(program p
  index  i, j, k
  input  M : f64 {dense, compressed<32,32>}   access M.1[i,j] access M.2[i,j]
  input  B : f64 {dense, dense}   access B[j,k]
  input  c : f64 {dense}          access c[j]
  output y : f64 {dense, dense}   access y[i,k]
  fact   extent(k) = 8
  fact   finite(M)
  fact   finite(B)
  fact   finite(c)
  for i: drive M.1, locate M.2, insert y
    with x[j,k] : f64 {dense, dense}
      for j: drive M.1, locate B, insert x
        for k: locate B, insert x @vector
          x += M.1 * B
      for j: )" + reader + R"(
        for k: locate x, insert y @vector
          y += x * c * M.2
)";
  };
  CHECK(needed(text("drive M.2, locate x, locate c")).empty());
  // Where the reader goes everywhere, zeros stand where M has no entry: c is multiplied with them.
  std::string everywhere = text("locate x, locate c");
  everywhere.replace(everywhere.find(" * M.2"), 6, "");
  everywhere.replace(everywhere.find(" access M.2[i,j]"), 16, "");
  everywhere.replace(everywhere.find("access M.1"), 10, "access M");
  for (std::size_t at; (at = everywhere.find("M.1")) != std::string::npos;) everywhere.replace(at, 3, "M");
  everywhere.replace(everywhere.find(", locate M.2"), 12, "");
  CHECK(needed(everywhere) == "c");
}

TEST_CASE("of what is multiplied with a row that may be absent only the factors have to be finite, here and further on") {
  CHECK(needed(R"(program p
  index  i, j, k, r
  input  M : f64 {dense, compressed<32,32>}   access M[i,k]
  input  B : f64 {dense, dense}   access B[k,r]
  input  d : f64 {dense}          access d[i]
  input  e : f64 {dense}          access e[r]
  output y : f64 {dense}          access y[i]
  fact   extent(r) = 8
  fact   finite(M)
  fact   finite(B)
  fact   finite(d)
  fact   finite(e)
  for i: drive M, locate d, insert y
    with z[] : f64 {}
      with x[r] : f64 {dense}
        for k: drive M, locate B
          for r: locate B, insert x @vector
            x += M * B
        for r: locate x, locate e @vector
          z += x * e
      y += z * d
)") == "d e");
}

// A number that is found absent needs a flag in code; a fact spares it.
TEST_CASE("a fact stays that spares a number the flag whether it is there") {
  CHECK(needed(R"(program p
  index  i, k
  input  M : f64 {dense, compressed<32,32>}   access M[i,k]
  input  b : f64 {dense}   access b[k]
  input  d : f64 {dense}   access d[i]
  output y : f64 {dense}   access y[i]
  fact   finite(M)
  fact   finite(b)
  fact   finite(d)
  for i: drive M, locate d, insert y
    with s[] : f64 {}
      for k: drive M, locate b
        s += M * b
      y += s * d
)") == "d");
}

}  // namespace needed_facts_test
