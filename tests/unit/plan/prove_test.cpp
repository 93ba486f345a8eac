#include "engine/plan/prove/prove.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/space/alternatives.h"
#include "tests/oracle/enumerate.h"
#include "unit/plan/networks.h"
#include "unit/plan/random_networks.h"

namespace prove_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t effort = 1'000'000'000;

Enumerated enumerated(const OwnedProblem& made) {
  constexpr std::size_t limit = 3000;
  Enumerated found;
  const std::vector<Schedule> all = enumerate_schedules(made, limit);
  found.complete = all.size() < limit;
  for (Schedule schedule : all) {
    // A reduction in private copies may give way to a serial one.
    for (const bool serial : {false, true}) {
      if (serial) schedule.roots.assign(schedule.roots.size(), RootReduction::serial);
      const Cost judged = cost(schedule, made);
      found.least_bytes = std::min(found.least_bytes, judged.peak_bytes);
      found.unbounded_ns = std::min(found.unbounded_ns, judged.ns);
      // Nor more than this machine has, which plans take into account without a limit.
      if (judged.announced_bytes > usable_memory(made.options)) continue;
      if (judged.peak_bytes > made.options.memory_limit || judged.ns >= found.ns) continue;
      found.ns = judged.ns;
      found.bytes_of_cheapest = judged.peak_bytes;
    }
  }
  return found;
}

const Candidate& cheapest(const Proof& proof) { return proof.cheaper.front(); }

Proof proven(const OwnedProblem& made, const ProofRequest& request) {
  const AlternativeChoice choice = all_alternatives(made, 100'000);
  REQUIRE(choice.complete);
  Proof proof = prove(made, choice.alternatives, request);
  REQUIRE(proof.report.unavailable == "");
  for (const auto& [schedule, judged] : proof.cheaper) {
    CHECK(check(schedule, made).has_value());
    CHECK(judged == cost(schedule, made));
  }
  return proof;
}

// Without any schedule to beat, and without a word about memory.
Proof proven_as_enumerated(const OwnedProblem& made, const Enumerated& expected) {
  const Proof proof = proven(made, {infinity, 0, effort, 1});
  REQUIRE(proof.exhausted);
  REQUIRE(proof.cheaper.size() == 1);
  CHECK(cheapest(proof).cost.ns == doctest::Approx(expected.unbounded_ns).epsilon(1e-4));
  return proof;
}

}  // namespace

TEST_CASE("without any schedule to beat the solver finds what the enumeration finds") {
  std::size_t compared = 0;
  for (const unsigned seed : seeds(60)) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed, false, true);
    CAPTURE(print(made.network));
    const Enumerated expected = enumerated(made);
    if (!expected.complete) continue;
    proven_as_enumerated(made, expected);
    ++compared;
  }
  CHECK(compared >= scaled(35));
}

TEST_CASE("so it does for sparse results, with what is appended, drained and stored on the way") {
  std::size_t compared = 0;
  std::size_t drained = 0;
  std::size_t decided = 0;
  for (const unsigned seed : seeds(120)) {
    CAPTURE(seed);
    OwnedProblem made = random_network(seed);
    const std::vector<ResultFormat> formats = result_formats(made);
    if (formats.front().format.all_dense()) continue;
    CAPTURE(print(made.network));
    const Enumerated expected = enumerated(made);
    if (!expected.complete) continue;
    const Proof proof = proven_as_enumerated(made, expected);
    ++compared;
    for (const ScheduledStatement& statement : cheapest(proof).schedule.statements) drained += statement.drained ? 1 : 0;
    made.options.prove = true;
    const Plan found = planned(made);
    const std::string claim = std::string(word(found.optimal)) + ": " + found.proof;
    CAPTURE(claim);
    CHECK(found.cost.ns <= expected.ns * (1 + 1e-9));
    CHECK(found.solver.asked);
    decided += found.optimal == Optimal::all ? 1 : 0;
  }
  CHECK(compared >= scaled(10));
  CHECK(decided == compared);
  CHECK(drained >= scaled(1));
}

TEST_CASE("accesses of one operand share a converted copy where that pays") {
  std::size_t compared = 0;
  std::size_t shared = 0;
  std::uint64_t refused = 0;
  for (const unsigned seed : seeds(80)) {
    CAPTURE(seed);
    const OwnedProblem made = random_network(seed, true, true);
    CAPTURE(print(made.network));
    const Enumerated expected = enumerated(made);
    if (!expected.complete) continue;
    const Proof proof = proven_as_enumerated(made, expected);
    ++compared;
    refused += proof.refused;
    for (const ScheduledTensor& tensor : cheapest(proof).schedule.tensors) shared += tensor.converted ? 1 : 0;
  }
  CHECK(compared >= scaled(35));
  CHECK(shared >= scaled(4));
  CHECK(refused == 0);  // what is encoded is what is judged
}

TEST_CASE("within a memory limit the solver finds what the enumeration finds, or that there is nothing") {
  std::size_t bound = 0;
  std::size_t impossible = 0;
  for (const unsigned seed : seeds(45)) {
    CAPTURE(seed);
    OwnedProblem made = random_network(seed, seed % 3 == 0, true);
    CAPTURE(print(made.network));
    const Enumerated free = enumerated(made);
    if (!free.complete || free.bytes_of_cheapest == free.least_bytes) continue;
    for (const std::uint64_t limit : {free.bytes_of_cheapest - 1, (free.bytes_of_cheapest + free.least_bytes) / 2,
                                      free.least_bytes, free.least_bytes - 1}) {
      CAPTURE(limit);
      made.options.memory_limit = limit;
      const Enumerated expected = enumerated(made);
      const Proof proof = proven(made, {infinity, limit, effort, 1});
      REQUIRE(proof.exhausted);
      REQUIRE(proof.cheaper.empty() == std::isinf(expected.ns));
      if (proof.cheaper.empty()) {
        ++impossible;
        continue;
      }
      CHECK(cheapest(proof).cost.peak_bytes <= limit);
      CHECK(cheapest(proof).cost.ns == doctest::Approx(expected.ns).epsilon(1e-4));
      ++bound;
    }
  }
  CHECK(bound >= scaled(10));
  CHECK(impossible >= scaled(4));
}

// R(k) = A(k,j,i) * B(k,i) * C(i,j,k) over i beyond 32 bits, calls that pay a conversion of B, and a byte less than that needs: its
// coordinates of 64 bits are counted, in the copy and while they are sorted, so that no answer is too large.
TEST_CASE("a conversion is counted with the widths of its coordinates") {
  OwnedProblem made = random_network(614, false, true);
  constexpr std::uint64_t limit = 10107;
  made.options.memory_limit = limit;
  const Enumerated expected = enumerated(made);
  REQUIRE(expected.complete);
  const Proof proof = proven(made, {infinity, limit, effort, 1});
  REQUIRE(proof.cheaper.size() == 1);
  CHECK(proof.exhausted);
  CHECK(proof.refused == 0);
  CHECK(cheapest(proof).cost.ns == doctest::Approx(expected.ns).epsilon(1e-4));
}

// What an encoding without one of its families could answer.
TEST_CASE("choices that break one constraint are refused by the judge") {
  std::map<std::string, std::size_t> refused;
  for (const unsigned seed : seeds(60)) {
    CAPTURE(seed);
    OwnedProblem made = random_network(seed, seed % 2 == 0, true);
    if (seed % 2 == 0) made.options.calls = 1000;  // conversions pay
    const Proof proof = proven(made, {infinity, 0, effort, 1});
    REQUIRE(proof.cheaper.size() == 1);
    const Schedule& legal = cheapest(proof).schedule;
    const auto refuse = [&](const std::string& what, const Schedule& wrong) {
      CAPTURE(what);
      CHECK_FALSE(check(wrong, made).has_value());
      ++refused[what];
    };
    for (std::size_t number = 0; number < legal.statements.size(); ++number) {
      const ScheduledStatement& statement = legal.statements[number];
      if (!statement.loops.empty()) {
        Schedule wrong = legal;
        wrong.statements[number].loops.pop_back();
        refuse("a loop is missing", wrong);
      }
      if (number == 0) continue;
      const std::vector<IndexId>& before = legal.statements[number - 1].loops;
      const auto differ = std::mismatch(statement.loops.begin(), statement.loops.end(), before.begin(), before.end());
      const auto common = static_cast<std::uint32_t>(differ.first - statement.loops.begin());
      if (common == statement.loops.size()) continue;
      Schedule wrong = legal;
      if (statement.fused == 0) wrong.roots.pop_back();
      wrong.statements[number].fused = common + 1;
      refuse("loops are shared that differ", wrong);
    }
    for (std::size_t number = 0; number < legal.tensors.size(); ++number) {
      if (legal.tensors[number].role != TensorRole::operand) continue;
      Schedule wrong = legal;
      if (legal.tensors[number].converted) {
        wrong.tensors[number].converted = false;
        refuse("a conversion is not paid", wrong);
      } else if (legal.tensors[number].format.order() > 1) {
        std::swap(wrong.tensors[number].format.mode_order.front(), wrong.tensors[number].format.mode_order.back());
        refuse("a kept layout is another", wrong);
        wrong.tensors[number].converted = true;
        if (facts_of(made.operands, legal.tensors[number].tensor).pinned) refuse("a pinned layout is converted", wrong);
      }
    }
    const ScheduledStatement& last = legal.statements.back();
    if (last.loops.empty() || last.fused > 0) continue;
    const std::vector<IndexId>& stored = last.target.indices;
    if (std::find(stored.begin(), stored.end(), last.loops.front()) != stored.end()) continue;
    Schedule wrong = legal;
    wrong.roots.back() = RootReduction::owner;
    refuse("threads own what they share", wrong);
  }
  for (const char* what : {"a loop is missing", "loops are shared that differ", "a conversion is not paid",
                           "a kept layout is another", "a pinned layout is converted", "threads own what they share"}) {
    CAPTURE(what);
    CHECK(refused[what] > scaled(1));
  }
}

}  // namespace prove_test
