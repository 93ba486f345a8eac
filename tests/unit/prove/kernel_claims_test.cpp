// What loop programs claim: that of the text cases is proven, that of programs the verifier's rules refuse is refuted.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "engine/prove/kernel_proofs.h"
#include "tests/files/loop_case.h"
#include "tests/unit/loop/damage.h"
#include "tests/unit/prove/proofs.h"

namespace kernel_claims_test {

using namespace weft;
using namespace weft::test;

TEST_CASE("what the text cases rest on is proven") {
  std::map<std::string, std::size_t> counted;
  std::vector<double> asked_ms;
  for (const std::string folder : {"", "/sparse_results"}) {
    const auto cases = read_loop_cases(WEFT_SOURCE_DIR "/tests/files/loop" + folder);
    REQUIRE_MESSAGE(cases, (cases ? "" : cases.error().message));
    for (const LoopCase& each : *cases) {
      if (each.error) continue;
      CAPTURE(each.name);
      for (const SettledClaim& proof : proofs_of(each.program)) {
        ++counted[proof.claim.kind];
        if (!proof.cached) asked_ms.push_back(proof.ms);
      }
      CHECK(unproven(each.program) == "");
    }
  }
  std::ranges::sort(asked_ms);
  if (!asked_ms.empty())
    MESSAGE(asked_ms.size() << " questions, " << asked_ms[asked_ms.size() / 2] << " ms in the median, "
                            << asked_ms.back() << " at most");
  for (const std::string kind :
       {"cursor", "passed", "candidate", "probe", "table", "unique", "within", "owner", "append"}) {
    CAPTURE(kind);
    CHECK(counted[kind] > 0);
  }
}

TEST_CASE("what is damaged and still verifies rests on proven claims") {
  const std::uint64_t seed = 7;
  std::mt19937_64 random(seed);
  std::size_t tried = 0;
  std::size_t refuted = 0;
  const std::vector<std::string> by_claims = {"append-order", "unordered", "finger", "parallel"};
  for (const std::string folder : {"", "/sparse_results", "/errors"}) {
    const auto cases = read_loop_cases(WEFT_SOURCE_DIR "/tests/files/loop" + folder);
    REQUIRE_MESSAGE(cases, (cases ? "" : cases.error().message));
    for (const LoopCase& each : *cases) {
      for (int round = 0; round < 40; ++round) {
        const std::string text = damaged(each.program_text, random);
        const auto program = loop::parse(text);
        if (!program) continue;
        CAPTURE(text);
        const auto verified = loop::verify(*program);
        const bool by_order = !verified && std::ranges::any_of(by_claims, [&](const std::string& rule) {
          return verified.error().message.starts_with(rule);
        });
        if (verified) CHECK(unproven(*program) == "");
        if (by_order) refuted += unproven(*program).empty() ? 0 : 1;
        tried += verified ? 1 : 0;
      }
    }
  }
  MESSAGE(tried << " verified programs, " << refuted << " refused ones that rest on what is refuted");
  CHECK(tried > 300);
  CHECK(refuted > 20);
}

TEST_CASE("a claim tells the loops, the state and the way to look up") {
  const auto proofs = proofs_of(program_of(R"(program y
  index  i, j
  input  A : f64 {dense, compressed<32,32>}   access A[i,j]
  input  x : f64 {compressed<32,32>}          access x[j]
  output y : f64 {dense}                      access y[i]
  for i: locate A, insert y @parallel(y: owner)
    for j: drive A, locate x(gallop)
      y += A * x
)"));
  std::vector<std::string> told;
  for (const SettledClaim& proof : proofs)
    told.push_back(proof.claim.kind + ", " + proof.claim.skeleton + ": " + proof.claim.says);
  CHECK(told == std::vector<std::string>{
                    "owner, owner: iterations of i write entries of y of their own",
                    "cursor, cursor j: x at j never moves back, loops i j, state i",
                    "passed, cursor j: what is passed of x at j matches no later coordinate",
                    "candidate, cursor j: behind the entry of x at j where the search stops nothing matches",
                    "probe, cursor j: entries of x at j below a coordinate come before the others"});
}

TEST_CASE("a finger kept above a loop further out claims the order of all loops in between") {
  const auto told = [](const std::string& levels, const std::string& extent, const std::string& inner) {
    std::vector<std::string> claims;
    for (const SettledClaim& proof : proofs_of(program_of(
             "program y\n  index  I, J, r, c, j = 4*J + c below 15\n  input  A : f64 {dense, " + levels + "} access A[I,J,c]\n" +
             "  input  x : f64 {compressed<32,32>} access x[j]\n  output y : f64 {dense, dense} access y[I,r]\n  fact extent(c) = " +
             extent + "\n  for I: locate A, insert y @parallel(y: owner)\n    for J: drive A\n" + inner + "          y += A * x\n")))
      if (proof.claim.kind == "cursor")
        claims.push_back(fmt::format("{}, {}: {}{}", proof.claim.skeleton, proof.claim.says,
                                     proof.verdict == Verdict::proven ? "proven" : "refuted", proof.counterexample));
    return claims;
  };
  const std::string blocks = "compressed<32,32>, dense";
  const std::string columns = "      for c: locate A, locate x(gallop J)\n        for r: insert y\n";
  CHECK(told(blocks, "4", columns) ==
        std::vector<std::string>{"cursor from J, x at j never moves back, loops I J c, state I: proven"});
  CHECK(told("compressed<32,32>, compressed<32,32>", "4", "      for c: drive A, locate x(gallop J)\n        for r: insert y\n") ==
        std::vector<std::string>{"cursor from J, x at j never moves back, loops I J c, state I: proven"});
  const auto refuted = [&](const std::vector<std::string>& claims) {
    CAPTURE(claims);
    const auto has = [&](const char* part) { return claims.front().find(part) != std::string::npos; };
    return claims.size() == 1 && has("refuted(") && has(") and (");
  };
  CHECK(refuted(told(blocks, "6", columns)));                 // the blocks overlap
  CHECK(refuted(told("hashed<32,32>, dense", "4", columns)));  // blocks in no order
  CHECK(refuted(told(blocks, "4", "      for r: insert y\n        for c: locate A, locate x(gallop J)\n")));
  CHECK(refuted(told(blocks, "4", "      for c: locate A, locate x(gallop I)\n        for r: insert y\n")));
}

TEST_CASE("what the verifier refuses is refuted by an example") {
  struct Refused {
    std::string rule, kind, text;
  };
  const std::vector<Refused> all = {{"unordered", "cursor", R"(program unordered
  input  H : f64 {hashed<32,32>}       access H[j]
  input  x : f64 {compressed<32,32>}   access x[j]
  output y : f64 {}                    access y[]
  for j: drive H, locate x(gallop)
    y += H * x
)"},
                                    {"finger", "cursor", R"(program parent_moves
  input  v : f64 {compressed<32,32>}          access v[i]
  input  D : f64 {dense, compressed<32,32>}   access D[i,i]
  output y : f64 {}                           access y[]
  for i: drive v, locate D, locate D(gallop)
    y += v * D
)"},
                                    {"parallel", "owner", R"(program not_of_its_own
  input  A : f64 {dense, compressed<32,32>}   access A[i,j]
  output y : f64 {dense}                      access y[j]
  for i: locate A @parallel(y: owner)
    for j: drive A, insert y
      y += A
)"},
                                    {"append-order", "append", R"(program once_per_iteration
  input  A : f64 {dense, compressed<32,32>}   access A[i,j]
  output y : f64 {compressed<64,32>}          access y[j]
  for i: locate A
    for j: drive A, append y
      y += A
)"},
                                    {"unordered", "append", R"(program appended_as_hashed
  input  H : f64 {hashed<32,32>}       access H[j]
  output y : f64 {compressed<64,32>}   access y[j]
  for j: drive H, append y
    y += H
)"}};
  for (const Refused& each : all) {
    CAPTURE(each.text);
    const loop::Program program = program_of(each.text);
    const auto verified = loop::verify(program);
    REQUIRE(!verified);
    CHECK(verified.error().message.starts_with(each.rule));
    const auto proofs = proofs_of(program);
    const auto refuted = std::ranges::find(proofs, Verdict::refuted, &SettledClaim::verdict);
    REQUIRE(refuted != proofs.end());
    CHECK(refuted->claim.kind == each.kind);
    CHECK(refuted->counterexample.find(") and (") != std::string::npos);
    ProofBook book(nullptr);
    const auto checked = check_proofs(program, book);
    REQUIRE(!checked);
    CHECK(checked.error().kind == ErrorKind::input);
    CHECK(checked.error().message.find("does not hold for (") != std::string::npos);
  }
}

TEST_CASE("the script asks each question again") {
  const loop::Program program = program_of(R"(program y
  input  x : f64 {compressed<32,32>}   access x[j]
  output y : f64 {dense}               access y[j]
  for j: drive x, insert y @parallel(y: owner)
    y += x
)");
  const auto proofs = proofs_of(program);
  REQUIRE(proofs.size() == 2);
  CHECK(proofs_text(program, proofs) == R"(; program y: 2 claims

; owner: iterations of j write entries of y of their own
; proven, taken: owner
(push 1)
)" + proofs[0].claim.query + R"((check-sat) ; unsat if it holds
(pop 1)

; within: y is looked up within its extents
; proven, taken: table
(push 1)
)" + proofs[1].claim.query + R"((check-sat) ; unsat if it holds
(pop 1)
)");
  CHECK(proofs_text(program, {}) == "; program y: 0 claims\n");
}

}  // namespace kernel_claims_test
