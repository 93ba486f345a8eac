#include "engine/plan/cost/memory_demand.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/plan/search/baseline.h"
#include "unit/plan/networks.h"

namespace memory_demand_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

std::uint64_t bytes_of(const MemoryPlan& memory, const std::string& name) {
  for (const MemoryDemand& demand : memory.demands) {
    if (demand.name == name) return demand.bytes;
  }
  return 0;
}

std::vector<std::string> growing(const MemoryPlan& memory) {
  std::vector<std::string> names;
  for (const MemoryDemand& demand : memory.demands) {
    if (demand.grows) names.push_back(demand.name);
  }
  return names;
}

}  // namespace

TEST_CASE("operands, result, workspaces and intermediates are counted") {
  const OwnedProblem made = problem("T:ijk:sss:4000 B:jr C:kr -> ir", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 32}});
  const std::string head =
      "schedule\n tree ((T * C) * B)\n layout T sss f64\n layout C dd f64\n layout B dd f64\n"
      " intermediate x[i,j,r] ddd f64\n result R dd f64\n x[i,j,r] += T[i,j,k] * C[k,r] loops i,j,k,r\n"
      " R[i,r] += x[i,j,r] * B[j,r] loops i,j,r";
  const Schedule fused = schedule_of(made, head + " fused 2\n parallel i owner\n");
  const MemoryPlan memory = memory_plan(fused, made);
  CHECK(bytes_of(memory, "operand T") == 64000);
  CHECK(bytes_of(memory, "result R") == 20 * 32 * 8);
  CHECK(bytes_of(memory, "workspace x") == 8 * 32 * 8);
  CHECK(memory.peak_bytes == 64000 + 2 * 20 * 32 * 8 + 20 * 32 * 8 + 8 * 32 * 8);
  const Schedule apart = schedule_of(made, head + "\n parallel i owner\n parallel i owner\n");
  CHECK(bytes_of(memory_plan(apart, made), "intermediate x") == 20 * 20 * 32 * 8);
}

TEST_CASE("what grows while it is computed is no part of what a limit refuses beforehand") {
  const OwnedProblem made = problem("B:ik:ds:2000 C:kj:ds:2000 -> ij", {{'i', 200}, {'j', 200}, {'k', 200}});
  const std::string head =
      "schedule\n tree (B * C)\n layout B ds f64\n layout C ds f64\n result R ds f64\n"
      " R[i,j] += B[i,k] * C[k,j] loops i,k,j drained accumulator\n parallel i owner\n";
  const MemoryPlan memory = memory_plan(schedule_of(made, head), made);
  CHECK(bytes_of(memory, "result R") > 100'000);
  CHECK(memory.announced_bytes == memory.peak_bytes - bytes_of(memory, "result R"));
  CHECK(growing(memory) == std::vector<std::string>{"result R"});
  const OwnedProblem stores = problem("K:ij:ss:200 L:jk:ss:200 M:ik:ss:6000 -> ik", {{'i', 200}, {'j', 200}, {'k', 200}});
  const Schedule stored = schedule_of(
      stores,
      "schedule\n tree ((K * L) * M)\n layout K ss f64\n layout L ss f64\n layout M ss f64\n"
      " intermediate x[i,k] da f64\n result R dd f64\n x[i,k] += K[i,j] * L[j,k] loops i,j,k\n"
      " R[i,k] += x[i,k] * M[i,k] loops i,k\n parallel i serial\n parallel i serial\n");
  CHECK(growing(memory_plan(stored, stores)) == std::vector<std::string>{"intermediate x"});
}

TEST_CASE("operands and a dense result leave the room that intermediates have") {
  OwnedProblem made = problem("B:ik:dd C:kj:dd -> ij", {{'i', 20}, {'j', 30}, {'k', 40}});
  made.options.memory_limit = 100'000;
  const double beside = 100'000 - 8 * (20 * 40 + 40 * 30);
  CHECK(memory_beside(made, false) == beside);
  CHECK(memory_beside(made, true) == beside - 8 * 20 * 30);
  made.options.memory_limit = 100;
  CHECK(memory_beside(made, false) < 0);
}

TEST_CASE("a dense result in memory of the host is none that is allocated") {
  OwnedProblem made = problem("B:ik:dd C:kj:dd -> ij", {{'i', 20}, {'j', 30}, {'k', 40}});
  const std::string rest = " R[i,j] += B[i,k] * C[k,j] loops i,k,j\n parallel i serial\n";
  const std::string head = "schedule\n tree (B * C)\n layout B dd f64\n layout C dd f64\n result R dd f64";
  const Schedule schedule = schedule_of(made, head + "\n" + rest);
  const Schedule delivered = schedule_of(made, head + " delivered dd:1,0 f64\n" + rest);
  const std::uint64_t alone = memory_plan(schedule, made).announced_bytes, twice = memory_plan(delivered, made).announced_bytes;
  CHECK(twice == alone + 8 * 20 * 30);
  made.options.lent_results = {"R"};
  CHECK(memory_plan(schedule, made).announced_bytes == alone - 8 * 20 * 30);
  CHECK(growing(memory_plan(schedule, made)).empty());
  CHECK(bytes_of(memory_plan(delivered, made), "result R") == 8 * 20 * 30);  // computed in another order
  made.options.memory_limit = 100'000;
  CHECK(memory_beside(made, true) == memory_beside(made, false));
}

TEST_CASE("private copies give way to the limit") {
  OwnedProblem made = problem("T:ij:ss:400 -> j", {{'i', 20}, {'j', 1000}});
  const Schedule schedule = schedule_of(made,
                                        "schedule\n tree T\n layout T ss f64\n result R d f64\n"
                                        " R[j] += T[i,j] loops i,j\n parallel i private\n");
  CHECK(bytes_of(memory_plan(schedule, made), "private copies") == 8 * 8000);
  made.options.memory_limit = 6400 + 8000 + 3 * 8000 + 100;
  const MemoryPlan limited = memory_plan(schedule, made);
  CHECK(bytes_of(limited, "private copies") == 3 * 8000);
  CHECK(limited.peak_bytes <= made.options.memory_limit);
}

TEST_CASE("private copies are counted for the usual slots however few threads are assumed, and two however little fits") {
  OwnedProblem made = problem("T:ij:ss:400 -> j", {{'i', 20}, {'j', 1000}});
  const Schedule schedule = schedule_of(made,
                                        "schedule\n tree T\n layout T ss f64\n result R d f64\n"
                                        " R[j] += T[i,j] loops i,j\n parallel i private\n");
  for (const double threads : {1, 2, 8, 12}) {
    CAPTURE(threads);
    made.options.machine.threads = threads;
    CHECK(static_cast<double>(bytes_of(memory_plan(schedule, made), "private copies")) ==
          std::max(threads, static_cast<double>(usual_slots)) * 8000);
  }
  made.options.machine.threads = 1;
  made.options.memory_limit = 6400 + 8000;
  CHECK(bytes_of(memory_plan(schedule, made), "private copies") == 2 * 8000);
}

TEST_CASE("conversions charge their arrays and the sort") {
  const OwnedProblem made = problem("D:ji:ss:50 T:ijk:sss:500 -> ", {{'i', 20}, {'j', 20}, {'k', 20}});
  const Schedule schedule = baseline(made);
  const MemoryPlan memory = memory_plan(schedule, made);
  CHECK(bytes_of(memory, "conversion D") >= 50 * (8 + 4));
  CHECK(bytes_of(memory, "sorting conversions") == 50 * 2 * (8 + 8));
}

TEST_CASE("a dense operand that is turned charges its array and no sort") {
  const OwnedProblem made = problem("M:ik:ds:500 X:jk:dd -> ij", {{'i', 50}, {'j', 16}, {'k', 40}});
  const Schedule schedule = schedule_of(made,
                                        "schedule\n tree (M * X)\n layout M ds f64\n layout X dd:1,0 f64 converted\n result R dd f64\n"
                                        " R[i,j] += M[i,k] * X[j,k] loops i,k,j\n");
  const MemoryPlan memory = memory_plan(schedule, made);
  CHECK(bytes_of(memory, "conversion X") == 16 * 40 * 8);
  CHECK(bytes_of(memory, "sorting conversions") == 0);
}

TEST_CASE("sizes beyond 64 bits saturate instead of wrapping") {
  const std::uint64_t large = std::uint64_t{1} << 40;
  const OwnedProblem made = problem("a:i b:j -> ij", {{'i', large}, {'j', large}});
  const Schedule schedule = baseline(made);
  CHECK(memory_plan(schedule, made).peak_bytes >= std::uint64_t{1} << 63);
  CHECK(usable_memory(made.options) > 0);
  PlanOptions limited;
  limited.memory_limit = 1000;
  CHECK(usable_memory(limited) == 1000);
}

}  // namespace memory_demand_test
