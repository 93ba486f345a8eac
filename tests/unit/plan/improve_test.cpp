#include "engine/plan/prove/prove.h"

#include <doctest/doctest.h>

#include <array>
#include <thread>

#include "engine/plan/plan.h"
#include "unit/plan/networks.h"

namespace improve_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

// Two occurrences of one tensor: the program would convert it twice, once for each. What is at stake pays for the solver.
OwnedProblem chain(const std::string& entries = "3000000") {
  OwnedProblem made = problem("K:uvb:sss:" + entries + " K:vwb:sss f:u g:w -> b", {{'u', 600}, {'v', 600}, {'w', 600}, {'b', 600}});
  made.options.tree = flat_tree(4);  // nothing is summed before the two meet
  made.options.calls = 10;
  return made;
}

OwnedProblem branching() {
  OwnedProblem made = problem("A:ij:ss:300 B:jk:ss:300 C:kl:ss:300 D:lm -> im",
                         {{'i', 40}, {'j', 40}, {'k', 40}, {'l', 40}, {'m', 40}});
  for (OperandFacts& operand : made.operands) operand.pinned = true;
  return made;
}

}  // namespace

TEST_CASE("two accesses share a converted copy, which the interval program cannot see") {
  const OwnedProblem made = chain();
  const SearchResult found = search_schedules(made);
  CHECK_FALSE(found.open.empty());
  const Proof improvement = improve(found, made);
  REQUIRE(improvement.cheaper.size() == 1);
  CHECK(improvement.cheaper.front().cost.ns < found.candidates.front().cost.ns);
  CHECK(improvement.proven());
  const Plan chosen = planned(made);
  CHECK(chosen.producer == Producer::solver);
  CHECK(chosen.optimal == Optimal::all);
  CHECK(chosen.schedule == improvement.cheaper.front().schedule);
  CHECK(chosen.solver.alternatives > 0);
}

TEST_CASE("Z3 is not asked where the program decides, unless a proof is wanted") {
  OwnedProblem made = problem("T:ijk:sss:30000 B:jr C:kr -> ir", {{'i', 50}, {'j', 50}, {'k', 50}, {'r', 32}});
  const Plan usual = planned(made);
  CHECK_FALSE(usual.solver.asked);
  CHECK(usual.optimal == Optimal::all);
  made.options.prove = true;
  const Plan proven = planned(made);
  CHECK(proven.solver.asked);
  CHECK(proven.solver.alternatives == 1);
  CHECK(proven.optimal == Optimal::all);
  CHECK(proven.schedule == usual.schedule);
}

TEST_CASE("Z3 is not asked where less is at stake than it takes") {
  OwnedProblem made = chain("100000");
  CHECK_FALSE(planned(made).solver.asked);
  CHECK(planned(made).optimal != Optimal::all);
  made.options.prove = true;
  CHECK(planned(made).solver.asked);
}

TEST_CASE("a limit that binds is met by the cheapest schedule within it") {
  OwnedProblem made = branching();
  made.options.calls = 1e5;  // enough at stake to look at everything
  const Plan free = planned(made);
  std::uint64_t limit = free.cost.peak_bytes - 1;
  double before = free.cost.ns;
  int binding = 0;
  for (;;) {
    made.options.memory_limit = limit;
    const auto found = plan(made);
    if (!found) {
      CHECK(found.error().kind == ErrorKind::resource);
      const std::string message = found.error().message;
      CAPTURE(message);
      CHECK(message.find("no order of loops, fusion or conversion fits") != std::string::npos);
      break;
    }
    REQUIRE(found->cost.peak_bytes <= limit);  // or this would not end
    CHECK(found->cost.ns >= before);
    CHECK(found->optimal == Optimal::all);
    before = found->cost.ns;
    limit = found->cost.peak_bytes - 1;
    ++binding;
  }
  CHECK(binding >= 1);
}

TEST_CASE("the same plan a hundred times, in any order of problems and on eight threads") {
  std::array problems{chain(), branching(), chain()};
  problems[1].options.memory_limit = planned(problems[1]).cost.peak_bytes - 1;
  problems[2].options.prove = true;
  std::array<Schedule, 3> expected;
  std::array<std::uint64_t, 3> effort{};
  for (std::size_t number = 0; number < 3; ++number) {
    const Plan first = planned(problems[number]);
    expected[number] = first.schedule;
    effort[number] = first.solver.effort;
    CHECK(first.solver.asked);
  }
  const auto repeat = [&](std::size_t start, std::size_t times) {
    std::size_t differing = 0;
    for (std::size_t step = 0; step < times; ++step) {
      const std::size_t number = (start + step * (1 + start % 2)) % 3;
      const auto again = plan(Problem{problems[number].network, problems[number].operands, problems[number].options});
      if (!again || !(again->schedule == expected[number]) || again->solver.effort != effort[number]) ++differing;
    }
    return differing;
  };
  CHECK(repeat(0, scaled(100)) == 0);
  std::array<std::size_t, 8> differing{};
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < differing.size(); ++thread) {
    threads.emplace_back([&, thread] { differing[thread] = repeat(thread, 6); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t count : differing) CHECK(count == 0);
}

TEST_CASE("what cannot be stored within the limit is named") {
  OwnedProblem made = problem("M:ij:ss:600 B:jk A:ki -> ", {{'i', 40}, {'j', 40}, {'k', 40}});
  made.options.tree = *parse_tree("(M * (B * A))", {"M", "B", "A"});
  std::uint64_t limit = planned(made).cost.peak_bytes;
  for (;;) {
    made.options.memory_limit = limit - 1;
    const auto found = plan(made);
    if (found) {
      limit = found->cost.peak_bytes;
      continue;
    }
    const std::string message = found.error().message;
    CAPTURE(message);
    CHECK(message.find("operands and results leave no room for x") != std::string::npos);
    break;
  }
}

TEST_CASE("so it is on the way to a sparse result, which is named itself only if its workspace is too large") {
  OwnedProblem made = problem("M:ij:ss:600 B:jl A:lk -> ik", {{'i', 40}, {'j', 40}, {'l', 40}, {'k', 40}});
  made.options.tree = *parse_tree("(M * (B * A))", {"M", "B", "A"});
  made.options.result_formats["R"] = sparse_format(2);
  std::uint64_t operands = 0;
  for (const OperandFacts& operand : made.operands) operands += operand.exact_bytes();
  made.options.memory_limit = operands + 32;
  const SearchResult found = search_schedules(made);
  const std::string why = why_nothing_fits(found, made);
  CAPTURE(why);
  CHECK(why.find("operands and results leave no room for x") != std::string::npos);
  // The product as a whole stores nothing; less than the operands is not enough for that either.
  CHECK(planned(made).cost.announced_bytes == operands);
  made.options.memory_limit = operands - 1;
  const auto none = plan(made);
  REQUIRE_FALSE(none.has_value());
  const std::string message = none.error().message;
  CAPTURE(message);
  CHECK(message.find("no order of loops, fusion or conversion fits)") != std::string::npos);
  CHECK(message.find("result R") == std::string::npos);  // which grows
}

}  // namespace improve_test
