#include "engine/plan/const/workspace_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>

#include "engine/plan/const/order_system.h"
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/space/trees.h"
#include "tests/oracle/enumerate.h"
#include "tests/oracle/fusion_structures.h"
#include "unit/plan/networks.h"
#include "unit/plan/order_case.h"
#include "unit/plan/stretched.h"

namespace workspace_order_test {

using namespace weft;
using namespace weft::plan_test;

namespace {

Contractions skeleton_of(const OwnedProblem& made) {
  const ContractionTree& tree = *made.options.tree;
  return contractions_of(made.network, tree, step_orders(tree, 1).front(), made.operands, made.options);
}

Satisfiable satisfiable(const OwnedProblem& made, std::uint32_t order) {
  const Contractions skeleton = skeleton_of(made);
  auto system = OrderSystem::create(skeleton, made.network, made.operands, order, OperandLayouts::any);
  REQUIRE(system.has_value());
  return system->solve(100'000'000);
}

bool visits_in_stored_order(const Schedule& schedule) {
  for (const ScheduledStatement& statement : schedule.statements) {
    for (const ScheduledAccess& factor : statement.factors) {
      const ScheduledTensor& tensor = schedule.tensors[factor.tensor];
      if (tensor.role != TensorRole::operand || tensor.format.all_dense()) continue;
      std::size_t depth = 0;
      for (const std::uint32_t mode : tensor.format.mode_order) {
        const auto loop = static_cast<std::size_t>(
            std::find(statement.loops.begin(), statement.loops.end(), factor.indices[mode]) - statement.loops.begin());
        if (loop < depth) return false;
        depth = loop;
      }
    }
  }
  return true;
}

bool has_one_layout_each(const Schedule& schedule) {
  for (const ScheduledTensor& one : schedule.tensors) {
    const auto same = std::count_if(schedule.tensors.begin(), schedule.tensors.end(),
                                    [&](const ScheduledTensor& other) { return other.name == one.name; });
    if (same != 1) return false;
  }
  return true;
}

// Two to four factors, sparse, some used twice, some pinned, in a binary tree.
OwnedProblem random_sparse(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned count) { return static_cast<unsigned>(random() % count); };
  const std::string letters = "ijkl";
  const unsigned factors = 2 + below(3);
  const unsigned indices = factors == 4 ? 3 : 2 + below(3);
  std::map<char, std::uint64_t> extents;
  for (unsigned index = 0; index < indices; ++index) extents[letters[index]] = 5;
  std::string text, used;
  std::map<std::size_t, std::string> named;
  for (unsigned factor = 0; factor < factors; ++factor) {
    std::string modes;
    for (unsigned index = 0; index < indices; ++index) {
      if (modes.size() < 3 && below(3) > 0) modes += letters[index];
    }
    std::shuffle(modes.begin(), modes.end(), random);
    used += modes;
    // An operand of as many modes as an earlier one may be the same tensor.
    std::string name(1, static_cast<char>('A' + factor));
    const auto earlier = named.find(modes.size());
    if (earlier != named.end() && below(2) == 0) name = earlier->second;
    named[modes.size()] = name;
    text += name + ":" + (modes.empty() ? "-" : modes + ":" + std::string(modes.size(), 's') + ":9") + " ";
  }
  std::string result;
  for (unsigned index = 0; index < indices; ++index) {
    if (used.find(letters[index]) != std::string::npos && below(2) == 0) result += letters[index];
  }
  OwnedProblem made = problem(text + "-> " + result, extents);
  made.options.objective = Objective::workspace_order;
  for (OperandFacts& operand : made.operands) operand.pinned = below(3) == 0;
  std::vector<ContractionTree> trees = all_trees(factors);
  std::erase_if(trees, [](const ContractionTree& tree) {
    return std::any_of(tree.nodes.begin(), tree.nodes.end(),
                       [](const ContractionTree::Node& node) { return node.children.size() > 2; });
  });
  made.options.tree = trees[random() % trees.size()];
  if (!is_stretched(seed)) return made;
  made.options.result_formats["R"] = dense_format(result.size());
  return stretched(std::move(made), random);
}

// Every order of the loops of every statement, by brute force.
void each_loops(Schedule& schedule, std::size_t number, const std::function<void()>& done) {
  if (number == schedule.statements.size()) return done();
  std::vector<IndexId>& loops = schedule.statements[number].loops;
  loops = members(indices_of(schedule.statements[number]));
  do {
    each_loops(schedule, number + 1, done);
  } while (std::next_permutation(loops.begin(), loops.end()));
}

// The least order over all nests with one layout per operand: none where no loops are concordant.
std::optional<std::uint32_t> least_by_brute_force(const OwnedProblem& made) {
  std::optional<std::uint32_t> least;
  for (const std::vector<std::uint32_t>& order : step_orders(*made.options.tree, 100)) {
    Schedule schedule = without_loops(contractions_of(made.network, *made.options.tree, order, made.operands, made.options));
    each_loops(schedule, 0, [&] {
      for (std::size_t number = 1; number < schedule.statements.size(); ++number) {
        const std::vector<IndexId>& before = schedule.statements[number - 1].loops;
        const std::vector<IndexId>& loops = schedule.statements[number].loops;
        schedule.statements[number].fused = static_cast<std::uint32_t>(
            std::mismatch(loops.begin(), loops.end(), before.begin(), before.end()).first - loops.begin());
      }
      const std::uint32_t reached = workspace_order(schedule);
      if (least && reached >= *least) return;
      // Layouts of an operand, one for all its uses: some order of its modes suits all of them.
      for (const OperandFacts& facts : made.operands) {
        std::vector<std::uint32_t> modes(facts.format.order());
        for (std::uint32_t mode = 0; mode < modes.size(); ++mode) modes[mode] = mode;
        if (facts.pinned) modes = facts.format.mode_order;
        bool suits = false;
        do {
          Schedule laid_out = schedule;
          for (ScheduledTensor& tensor : laid_out.tensors) {
            // Only this operand is looked at: the others count as dense.
            if (tensor.role != TensorRole::operand) continue;
            if (tensor.tensor != facts.tensor) tensor.format = dense_format(tensor.format.order());
            else tensor.format.mode_order = modes;
          }
          suits = visits_in_stored_order(laid_out);
        } while (!suits && !facts.pinned && std::next_permutation(modes.begin(), modes.end()));
        if (!suits) return;
      }
      least = reached;
    });
  }
  return least;
}

// The order of the workspaces of the plan that is cheapest by time.
std::uint32_t check_case(const OrderCase& one) {
  CAPTURE(one.name);
  const OwnedProblem& made = one.problem;
  const std::uint32_t bound = least_workspace_order(operation_tree(skeleton_of(made)));
  PlanOptions options = made.options;
  options.objective = Objective::workspace_order;
  const auto planned = plan(Problem{made.network, made.operands, options});
  const std::string message = planned ? "" : planned.error().message;
  CAPTURE(message);
  REQUIRE(planned.has_value());
  CAPTURE(print(planned->schedule, made.network));
  CHECK(planned->producer == Producer::solver);
  CHECK(planned->optimal == Optimal::tree);
  CHECK(check(planned->schedule, made).has_value());
  CHECK(visits_in_stored_order(planned->schedule));
  CHECK(has_one_layout_each(planned->schedule));
  CHECK(std::max(1U, workspace_order(planned->schedule)) == one.order);
  if (one.order > 1) CHECK(satisfiable(made, one.order - 1) == Satisfiable::no);
  // The structures of the Tensor Contraction Engine know nothing of layouts: they can only need fewer.
  CHECK(bound <= one.order);
  std::uint32_t attained = ~0U;
  for (const OrderCase::Nest& nest : one.nests) {
    CAPTURE(nest.schedule);
    CHECK(defect(made, nest.schedule) == "");
    const Schedule given = schedule_of(made, nest.schedule);
    CHECK(given.tree == *made.options.tree);
    CHECK(visits_in_stored_order(given));
    CHECK(has_one_layout_each(given));
    CHECK(workspace_order(given) == nest.order);
    attained = std::min(attained, std::max(1U, nest.order));
  }
  CHECK(attained == one.order);
  const auto found = plan(made);
  REQUIRE(found.has_value());
  CHECK(workspace_order(found->schedule) >= bound);
  return workspace_order(found->schedule);
}

}  // namespace

TEST_CASE("the published cases: the least order, proven, and legal nests") {
  const std::vector<OrderCase> cases = read_order_cases(WEFT_SOURCE_DIR "/tests/files/workspace_order");
  CHECK(cases.size() >= 24);
  for (const OrderCase& one : cases) {
    const std::uint32_t by_time = check_case(one);
    MESSAGE(one.name << ": l = " << one.order << "; cheapest by time: " << by_time << " dimensions; " << one.source);
  }
}

// Judged by brute force over orders of statements and loops, which shares nothing with the system but what a schedule
// is; and where every operand is used once and free, by the enumerator of all legal schedules.
TEST_CASE("the first l with a solution is the least over all nests") {
  std::size_t impossible = 0, with_workspaces = 0, enumerated = 0, shared = 0, too_large = 0;
  for (unsigned seed = 1; seed <= scaled(160); ++seed) {
    CAPTURE(seed);
    const OwnedProblem made = random_sparse(seed);
    CAPTURE(print(made.network));
    const std::optional<std::uint32_t> least = least_by_brute_force(made);
    const auto planned = plan_workspace_order(made);
    if (!planned && planned.error().kind == ErrorKind::resource) {
      CHECK(is_stretched(seed));
      CHECK(least.has_value());
      ++too_large;
      continue;
    }
    CHECK(planned.has_value() == least.has_value());
    if (!planned || !least) {
      ++impossible;
      CHECK(satisfiable(made, 64) == Satisfiable::no);
      if (!planned) CHECK(planned.error().message.find("loops in the order of") != std::string::npos);
      continue;
    }
    CAPTURE(print(planned->schedule, made.network));
    CHECK(std::max(1U, workspace_order(planned->schedule)) == std::max(1U, *least));
    CHECK(planned->optimal == Optimal::tree);
    CHECK(visits_in_stored_order(planned->schedule));
    CHECK(has_one_layout_each(planned->schedule));
    const std::uint32_t bound = least_workspace_order(operation_tree(skeleton_of(made)));
    CHECK(bound <= *least);
    for (std::uint32_t order = 1; order < std::max(1U, *least); ++order) CHECK(satisfiable(made, order) == Satisfiable::no);
    if (made.operands.size() < made.network.assignments[0].terms[0].factors.size()) ++shared;
    if (*least > 0) ++with_workspaces;
    const bool free = std::none_of(made.operands.begin(), made.operands.end(), [](const auto& facts) { return facts.pinned; });
    if (!free || made.operands.size() < made.network.assignments[0].terms[0].factors.size()) continue;
    constexpr std::size_t limit = 20'000;
    const std::vector<Schedule> all = enumerate_schedules(made, limit);
    if (all.size() == limit) continue;
    std::uint32_t smallest = ~0U;
    for (const Schedule& schedule : all) smallest = std::min(smallest, workspace_order(schedule));
    CHECK(std::max(1U, smallest) == std::max(1U, *least));
    CHECK(bound == smallest);
    ++enumerated;
  }
  MESSAGE(impossible << " without concordant loops, " << with_workspaces << " that need a workspace, " << shared
                     << " with a shared operand, " << enumerated << " against all enumerated schedules, " << too_large
                     << " with workspaces too large for the machine");
  CHECK(impossible >= scaled(5));
  CHECK(with_workspaces >= scaled(5));
  CHECK(shared >= scaled(15));
  CHECK(enumerated >= scaled(18));
}

TEST_CASE("pinned layouts that contradict each other are named") {
  OwnedProblem made = problem("A:ij:ss:9 B:ij:ss:9 c:j -> ", {{'i', 5}, {'j', 5}});
  made.options.tree = *parse_tree("((A * B) * c)", {"A", "B", "c"});
  made.operands[1].format = *parse_format("ss:1,0");
  made.operands[0].pinned = true;
  CHECK(plan_workspace_order(made).has_value());
  made.operands[1].pinned = true;
  const auto planned = plan_workspace_order(made);
  REQUIRE_FALSE(planned.has_value());
  CHECK(planned.error().kind == ErrorKind::unsupported);
  for (const char* part : {"the pinned layout ss:0,1 of A", "the pinned layout ss:1,0 of B", "A[i,j]", "B[i,j]"}) {
    CAPTURE(planned.error().message);
    CHECK(planned.error().message.find(part) != std::string::npos);
  }
}

TEST_CASE("one layout cannot serve an operand and its transpose") {
  const OwnedProblem made = problem("A:ij:ss:9 A:ji -> ", {{'i', 5}, {'j', 5}});
  const auto planned = plan_workspace_order(made);
  REQUIRE_FALSE(planned.has_value());
  CHECK(planned.error().kind == ErrorKind::unsupported);
  CHECK(planned.error().message.find("A.1[i,j]") != std::string::npos);
  CHECK(planned.error().message.find("A.2[j,i]") != std::string::npos);
}

TEST_CASE("operands keep their layouts where that costs no dimension") {
  const std::pair<const char*, const char*> kept[] = {{"sss:0,1,2", "((T * C) * B)"},
                                                      {"sss:2,0,1", "((T * B) * C)"},
                                                      {"sss:1,2,0", "((T * C) * B)"},
                                                      {"dss:2,1,0", "((T * B) * C)"}};
  const auto planned = [](const std::string& layout, const std::string& tree) {
    OwnedProblem made = problem("T:ijk:sss:500 B:jr C:kr -> ir", {{'i', 20}, {'j', 20}, {'k', 20}, {'r', 4}});
    made.operands[0].format = *parse_format(layout);
    made.operands[0].statistics = Statistics({20, 20, 20}, made.operands[0].format, 500);
    made.options.tree = *parse_tree(tree, {"T", "B", "C"});
    const auto plan = plan_workspace_order(made);
    REQUIRE(plan.has_value());
    CHECK(workspace_order(plan->schedule) <= 1);
    return std::any_of(plan->schedule.tensors.begin(), plan->schedule.tensors.end(),
                       [](const ScheduledTensor& tensor) { return tensor.converted; });
  };
  for (const auto& [layout, tree] : kept) {
    CAPTURE(std::string(layout));
    CHECK_FALSE(planned(layout, tree));
  }
  CHECK(planned("sss:2,0,1", "((T * C) * B)"));  // k outermost would leave i and j in the workspace
}

TEST_CASE("nothing to fuse: one statement, no index, one factor, extents of 0 and 1") {
  for (const char* network : {"A:ij:ss:9 -> i", "A:ij:ss:9 B:jk -> ik", "a:- b:- -> ", "a:- b:- c:- -> ", "A:ii:ss:3 -> ",
                              "A:ii:ss:3 B:ij -> j"}) {
    for (const std::uint64_t extent : {0, 1, 5}) {
      CAPTURE(network);
      CAPTURE(extent);
      const OwnedProblem made = problem(network, {{'i', extent}, {'j', extent}, {'k', 5}});
      const auto planned = plan_workspace_order(made);
      REQUIRE(planned.has_value());
      CHECK(planned->producer == Producer::solver);
      CHECK(planned->optimal == Optimal::tree);
      CHECK(workspace_order(planned->schedule) == 0);
    }
  }
}

TEST_CASE("what does not fit into memory is refused") {
  OwnedProblem made = problem("A:ij:ss:900 B:jk:ss:900 C:kl:ss:900 -> il", {{'i', 100}, {'j', 100}, {'k', 100}, {'l', 100}});
  made.options.memory_limit = 1000;
  const auto planned = plan_workspace_order(made);
  REQUIRE_FALSE(planned.has_value());
  CHECK(planned.error().kind == ErrorKind::resource);
}

TEST_CASE("the same question, the same answer") {
  const OwnedProblem made = problem("I:kiu:sss:900 D:kl:ss:90 I:ljv -> iujv",
                               {{'i', 25}, {'j', 25}, {'k', 17}, {'l', 17}, {'u', 17}, {'v', 17}});
  const auto first = plan_workspace_order(made);
  REQUIRE(first.has_value());
  for (int round = 0; round < 10; ++round) {
    const auto again = plan_workspace_order(made);
    REQUIRE(again.has_value());
    CHECK(again->schedule == first->schedule);
    CHECK(again->candidates == first->candidates);
  }
}

}  // namespace workspace_order_test
