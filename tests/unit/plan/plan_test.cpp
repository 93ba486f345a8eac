#include "engine/plan/plan.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/plan/schedule/statements.h"
#include "engine/plan/search/baseline.h"
#include "unit/plan/networks.h"

namespace plan_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

std::string loops(const Plan& plan, const OwnedProblem& made, std::size_t statement) {
  std::string text;
  for (const IndexId index : plan.schedule.statements[statement].loops) text += made.network.indices[index].name;
  return text;
}

const std::map<char, std::uint64_t> cube{{'i', 500}, {'j', 500}, {'k', 500}, {'r', 32}};

}  // namespace

TEST_CASE("MTTKRP of the root mode is factored and fused over i and j") {
  const OwnedProblem made = problem("T:ijk:sss:3000000 B:jr C:kr -> ir", cube);
  const Plan found = planned(made);
  CHECK(print(found.schedule.tree, {"T", "B", "C"}) == "((T * C) * B)");
  REQUIRE(found.schedule.statements.size() == 2);
  CHECK(loops(found, made, 0) == "ijkr");
  CHECK(loops(found, made, 1) == "ijr");
  CHECK(found.schedule.statements[1].fused == 2);
  CHECK(found.schedule.statements[0].vector == IndexId{3});
  CHECK(found.schedule.roots == std::vector<RootReduction>{RootReduction::owner});
  CHECK(found.producer == Producer::search);
  CHECK(found.optimal == Optimal::all);
  CHECK(found.runner_up.has_value());
}

TEST_CASE("MTTKRP of the inner modes keeps the stored order, with private copies") {
  for (const char* text : {"T:ijk:sss:3000000 B:ir C:kr -> jr", "T:ijk:sss:3000000 B:ir C:jr -> kr"}) {
    const OwnedProblem made = problem(text, cube);
    const Plan found = planned(made);
    CHECK(loops(found, made, 0).substr(0, 2) == "ij");
    CHECK(found.schedule.roots == std::vector<RootReduction>{RootReduction::private_copies});
    for (const ScheduledTensor& tensor : found.schedule.tensors) CHECK_FALSE(tensor.converted);
  }
}

TEST_CASE("an operand is converted so that what nothing asks for lies in one range") {
  const std::map<char, std::uint64_t> extents{{'i', 200}, {'j', 1000}, {'k', 1000}, {'l', 200}, {'r', 16}};
  OwnedProblem made = problem("T:ijkl:ssss:800000 B:lr -> rl", extents);
  made.options.calls = 100000;
  const Plan found = planned(made);
  // One sum for each l, not 800,000 additions to l in memory.
  CHECK(loops(found, made, 0).front() == 'l');
  CHECK(found.schedule.tensors[0].converted);
  // No loop is entered within the range, so that nothing is won by a chain, whose coordinates take more.
  CHECK(std::ranges::count(found.schedule.tensors[0].format.levels, LevelKind::compressed_nonunique, &Level::kind) == 0);
}

TEST_CASE("TTMc of order 4 does not go over strided rows of its result that meet in few sets of a cache") {
  const std::map<char, std::uint64_t> extents{{'i', 200}, {'j', 200}, {'k', 200}, {'l', 200}, {'r', 32}, {'s', 32}, {'t', 32}};
  const OwnedProblem made = problem("T:ijkl:ssss:100000 B:jr C:ks D:lt -> irst", extents);
  const Plan found = planned(made);
  const std::string writing = loops(found, made, found.schedule.statements.size() - 1);
  // Not rows of t for every j, r by r, with s outside: three to five times slower than rows that stay in registers while
  // a loop sums into them, a block that lies together, or one that is added to once for several j.
  const bool row_stays = std::string("jkl").find(writing[3]) != std::string::npos;
  CHECK((row_stays || writing.ends_with("rst") || writing.ends_with("jrt")));
}

TEST_CASE("TTMc of order 4 has no loop over a rank outside those of its tensor where it fits into the caches") {
  // Measured on two machines: the tensor's loops outside take 0.7 to 1.05 times as long up to rank 32. But products over two of
  // the ranks may wait for each other where the third is outside: 40 ms for 39 to 44 at rank 24, 83 where none waits.
  for (const std::uint64_t rank : {8, 16, 24, 32}) {
    CAPTURE(rank);
    const std::map<char, std::uint64_t> extents{{'i', 200}, {'j', 200}, {'k', 200}, {'l', 200}, {'r', rank}, {'s', rank}, {'t', rank}};
    const OwnedProblem made = problem("T:ijkl:ssss:100000 B:jr C:ks D:lt -> irst", extents);
    const Plan found = planned(made);
    const std::string reading = loops(found, made, 0);
    const bool waits = loops(found, made, found.schedule.statements.size() - 1).ends_with("jrt");
    CHECK((reading.find_first_of("rst") == 4 || waits));
    CHECK((rank > 16 || reading.find_first_of("rst") == 4));
  }
}

TEST_CASE("no root loop over a rank goes over rows of the result that meet in few sets of a cache") {
  const OwnedProblem made =
      problem("T:ijk:sss:1000000 B:ir C:js -> krs", {{'i', 2000}, {'j', 2000}, {'k', 2000}, {'r', 16}, {'s', 16}});
  CHECK(loops(planned(made), made, 0).front() != 'r');
}

TEST_CASE("matrix times vector and matrix times matrix run along the rows") {
  const OwnedProblem spmv = problem("M:ij:ds:400000 x:j -> i", {{'i', 20000}, {'j', 20000}});
  CHECK(loops(planned(spmv), spmv, 0) == "ij");
  CHECK_FALSE(planned(spmv).schedule.statements[0].vector.has_value());
  const OwnedProblem spmm = problem("M:ij:ds:400000 X:jr -> ir", {{'i', 20000}, {'j', 20000}, {'r', 32}});
  const Plan found = planned(spmm);
  CHECK(loops(found, spmm, 0) == "ijr");
  CHECK(found.schedule.statements[0].vector == IndexId{2});
  CHECK(found.schedule.roots == std::vector<RootReduction>{RootReduction::owner});
}

TEST_CASE("four sparse tensors become one product in a selective order, on tables where that pays") {
  OwnedProblem made = problem("A:ipq:sss:17280 B:jpr:sss:17280 C:kqr:sss:17280 D:jkr:sss:17280 -> ijk",
                         {{'i', 120}, {'j', 120}, {'k', 120}, {'p', 120}, {'q', 120}, {'r', 120}});
  made.options.calls = 1000;
  const Plan found = planned(made);
  CHECK(print(found.schedule.tree, {"A", "B", "C", "D"}) == "(A * B * C * D)");
  const std::string order = loops(found, made, 0);
  CAPTURE(order);
  // The dense part, two of j, k and r with p or q, comes first; i, which one factor has, last.
  CHECK(order.back() == 'i');
  CHECK((order[0] == 'j' || order[0] == 'k' || order[0] == 'r'));
  std::size_t converted = 0;
  for (const ScheduledTensor& tensor : found.schedule.tensors) {
    if (!tensor.converted) continue;
    ++converted;
    CHECK(tensor.format.levels[0].kind == LevelKind::dense);
  }
  CHECK(converted >= 3);
  CHECK(found.cost.ns < cost(baseline(made), made).ns);
}

TEST_CASE("plans do not change when they are made again") {
  const OwnedProblem made = problem("A:ij:ss:900 B:jk:ss:900 C:ki:ss:900 -> ", {{'i', 60}, {'j', 60}, {'k', 60}});
  const Plan once = planned(made);
  const Plan twice = planned(made);
  CHECK(once.schedule == twice.schedule);
  CHECK(once.cost == twice.cost);
  CHECK(once.why == twice.why);
}

TEST_CASE("a user's schedule is judged and keeps its price") {
  const OwnedProblem made = problem("T:ijk:sss:3000000 B:jr C:kr -> ir", cube);
  const Plan found = planned(made);
  const auto given = plan_given(schedule_of(made, print(found.schedule, made.network)), made);
  REQUIRE(given.has_value());
  CHECK(given->producer == Producer::user);
  CHECK(given->cost == found.cost);
  Schedule bad = found.schedule;
  bad.statements[0].loops.pop_back();
  CHECK(plan_given(bad, made).error().kind == ErrorKind::input);
}

TEST_CASE("unfused plans store what fused ones do not") {
  const OwnedProblem made = problem("T:ijk:sss:3000000 B:jr C:kr -> ir", cube);
  const auto unfused = plan_unfused(made);
  REQUIRE(unfused.has_value());
  REQUIRE(unfused->schedule.statements.size() == 2);
  CHECK(unfused->schedule.statements[1].fused == 0);
  const Plan fused = planned(made);
  CHECK(unfused->cost.ns > fused.cost.ns);
  // What is said of it does not speak of plans that were not looked at.
  CHECK(unfused->proof.starts_with("Only plans that store every intermediate"));
  CHECK_FALSE(fused.proof.starts_with("Only"));
  const OwnedProblem single = problem("M:ij:ds:400 x:j -> i", {{'i', 20}, {'j', 20}});
  CHECK(plan_unfused(single)->schedule.statements.size() == 1);
}

TEST_CASE("threads that do not pay are why the runner-up lost") {
  const Plan small = planned(problem("A:ij:ss:99 B:jk -> ik", {{'i', 50}, {'j', 50}, {'k', 5}}));
  REQUIRE(small.runner_up.has_value());
  CHECK(small.schedule.roots.front() == RootReduction::serial);
  CHECK(small.runner_up->roots.front() == RootReduction::owner);
  CHECK(small.why.find("starting its threads takes longer than they save") != std::string::npos);
}

TEST_CASE("the memory limit changes the plan before it refuses it") {
  OwnedProblem made = problem("T:ij:ss:40000 -> j", {{'i', 2000}, {'j', 200000}});
  const Plan free = planned(made);
  const std::uint64_t operand = made.operands[0].bytes;
  const std::uint64_t result = 200000 * 8;
  made.options.memory_limit = operand + result + 1000;
  const Plan tight = planned(made);
  CHECK(tight.cost.peak_bytes <= made.options.memory_limit);
  CHECK(std::count(tight.schedule.roots.begin(), tight.schedule.roots.end(), RootReduction::private_copies) == 0);
  CHECK(tight.cost.ns >= free.cost.ns);
  made.options.memory_limit = operand + result - 1;
  const auto refused = plan(made);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == ErrorKind::resource);
  CHECK(refused.error().message.find("result R 1600000 bytes") != std::string::npos);
  CHECK(refused.error().message.find("sparse format") != std::string::npos);
}

TEST_CASE("a result larger than the machine is refused with its size") {
  const std::uint64_t large = std::uint64_t{1} << 33;
  OwnedProblem made = problem("a:i:s:10 b:j:s:10 -> ij", {{'i', large}, {'j', large}});
  CHECK(planned(made).cost.peak_bytes < 1'000'000);
  made.options.result_formats["R"] = dense_format(2);
  const auto refused = plan(made);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind == ErrorKind::resource);
}

TEST_CASE("edges: scalars, extents 0 and 1, diagonals, empty tensors, one factor") {
  for (const char* text : {"s:- -> ", "s:- T:ij:ss:5 -> ij", "T:zi:ss:5 x:i -> z", "T:iz:ss:5 -> i", "T:ii:ss:7 -> i",
                           "T:iio:sss:7 x:o -> ", "x:o y:o -> o", "T:ij:uq:9 x:j -> i", "T:ij:ss:0 x:j -> i",
                           "A:ij -> ji", "T:ij:ss:9 T:ji:ss:9 -> "}) {
    CAPTURE(text);
    planned(problem(text, {{'i', 12}, {'j', 12}, {'o', 1}, {'z', 0}}));
  }
}

TEST_CASE("a pinned tensor in discordant order is planned with late levels") {
  OwnedProblem made = problem("A:ij:ss:900 B:ji:ss:900 C:ij:ss:900 -> ", {{'i', 60}, {'j', 60}});
  for (OperandFacts& operand : made.operands) operand.pinned = true;
  const Plan found = planned(made);
  for (const ScheduledTensor& tensor : found.schedule.tensors) CHECK_FALSE(tensor.converted);
}

TEST_CASE("planning tells how far it is, and what is cancelled ends with that") {
  OwnedProblem made = problem("A:abk:sss:20000 B:bcl:sss:20000 C:cdm:sss:20000 D:dek:sss:20000 E:efl:sss:20000 -> afm",
                         {{'a', 200}, {'b', 210}, {'c', 220}, {'d', 230}, {'e', 240}, {'f', 250}, {'k', 30}, {'l', 31}, {'m', 32}});
  std::vector<std::string> said;
  made.options.progress = [&](std::string_view what, double fraction) {
    CHECK((fraction >= 0 && fraction <= 1));
    if (said.empty() || said.back() != what) said.emplace_back(what);
  };
  OwnedProblem quiet = made;
  quiet.options.progress = nullptr;
  CHECK(planned(made).schedule == planned(quiet).schedule);
  REQUIRE_FALSE(said.empty());
  CHECK(said.front() == "planning");
  said.clear();
  OwnedProblem proved = problem("T:ijk:sss:3000 B:jr C:kr -> ir", cube);
  proved.options.prove = true;
  proved.options.progress = made.options.progress;
  planned(proved);
  CHECK(said == std::vector<std::string>{"planning", "proving"});  // first the one, then the other

  const Cancellation token;
  token.cancel();
  for (OwnedProblem one : {made, proved}) {
    for (const Objective objective : {Objective::time, Objective::workspace_order}) {
      one.options.objective = objective;
      one.options.cancelled_by = {token};
      const auto none = plan(one);
      REQUIRE_FALSE(none);
      CHECK(none.error().kind == ErrorKind::cancelled);
    }
  }
}

}  // namespace plan_test
