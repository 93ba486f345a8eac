#include "engine/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>
#include <utility>

#include "engine/plan/const/workspace_order.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/cost/tree_bound.h"
#include "engine/plan/prove/prove.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/widths.h"
#include "engine/plan/search/baseline.h"
#include "engine/plan/search/forest_search.h"
#include "engine/plan/search/planned.h"
#include "engine/plan/search/search.h"
#include "engine/plan/search/search_budget.h"
#include "engine/plan/space/trees.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

constexpr std::size_t factors_beyond_budget = 10;

// The baseline is cut for threads wherever that is legal.
void run_serially_where_cheaper(Candidate& candidate, const Problem& problem) {
  Schedule serial = candidate.schedule;
  std::ranges::fill(serial.roots, RootReduction::serial);
  if (serial == candidate.schedule) return;
  Cost judged = cost(serial, problem);
  if (judged.ns < candidate.cost.ns) candidate = {std::move(serial), std::move(judged)};
}

// The plan of one assignment, phase by phase.
class AssignmentPlanner {
 public:
  AssignmentPlanner(const Problem& problem, SearchScope scope) : problem_(problem), scope_(scope), limit_(usable_memory(problem.options)) {}

  Expected<Plan> plan() {
    search();
    ask_solver();
    if (is_cancelled(problem_.options)) return fail(ErrorKind::cancelled, "interrupted");
    if (auto there = add_baseline(); !there) return std::unexpected(there.error());
    if (auto fits = leave_out_too_large(); !fits) return std::unexpected(fits.error());
    return chosen();
  }

 private:
  // Trees, orders of statements and layouts around the interval program.
  void search() {
    found_ = search_schedules(problem_, scope_);
    const std::size_t factors = problem_.network.assignments.front().terms.front().factors.size();
    if (scope_.fused && factors >= factors_beyond_budget && !problem_.options.prove) add_unfused();
    if (scope_.fused) add_smaller_intermediates(found_, problem_, scope_);
  }

  // Of so many factors the budget suffices for a few choices of paths; where nothing is fused each is priced in a part of the loops.
  void add_unfused() {
    SearchResult stored = search_schedules(problem_, unfused_scope);
    found_.tried += stored.tried;
    for (Candidate& candidate : stored.candidates) add_candidate(found_.candidates, std::move(candidate));
  }

  // What the search has left open.
  void ask_solver() {
    if (scope_.fused && !is_cancelled(problem_.options)) proof_ = improve(found_, problem_);
  }

  // It is there to fall back on, whatever else is: it needs no intermediate and no conversion.
  Expected<void> add_baseline() {
    std::vector<Candidate>& candidates = found_.candidates;
    baseline_ = {baseline(problem_), {}};
    baseline_.cost = found_.models->cost_of(baseline_.schedule);
    if (candidates.empty() || baseline_.cost.ns < candidates.front().cost.ns) run_serially_where_cheaper(baseline_, problem_);
    candidates.insert(candidates.begin(), proof_.cheaper.begin(), proof_.cheaper.end());
    const auto stores = [](const Candidate& candidate) { return candidate.schedule.statements.size() > 1; };
    const bool any_stores = std::ranges::any_of(candidates, stores);
    if (!scope_.fused && any_stores) std::erase_if(candidates, [&](const Candidate& candidate) { return !stores(candidate); });
    const auto legal = check(baseline_.schedule, problem_);
    if (legal && (scope_.fused || !any_stores || stores(baseline_))) add_candidate(candidates, baseline_);
    if (candidates.empty() && !legal) return std::unexpected(legal.error());
    return {};
  }

  Expected<void> leave_out_too_large() {
    std::vector<Candidate>& candidates = found_.candidates;
    const std::size_t all = candidates.size();
    std::size_t shrunk = 0;
    for (Candidate& candidate : candidates) {
      if (candidate.cost.announced_bytes <= limit_) continue;
      give_up_private_copies(candidate, problem_);
      if (candidate.cost.announced_bytes <= limit_) ++shrunk;
    }
    const auto smallest = std::ranges::min_element(candidates, {}, [](const Candidate& one) { return one.cost.announced_bytes; });
    if (smallest->cost.announced_bytes > limit_) {
      return std::unexpected(too_large(smallest->cost, limit_, why_nothing_fits(found_, problem_)));
    }
    std::erase_if(candidates, [&](const Candidate& candidate) { return candidate.cost.announced_bytes > limit_; });
    too_large_ = all - candidates.size() + shrunk + found_.serialized + found_.trees_too_large;
    return {};
  }

  // The cheapest, the claim made of it, and the runner-up.
  Plan chosen() {
    std::vector<Candidate>& candidates = found_.candidates;
    std::ranges::stable_sort(candidates, {}, &Candidate::ns);
    Plan plan;
    plan.schedule = std::move(candidates.front().schedule);
    plan.cost = std::move(candidates.front().cost);
    const bool solved = !proof_.cheaper.empty() && plan.schedule == proof_.cheaper.front().schedule;
    plan.producer = solved ? Producer::solver : plan.schedule == baseline_.schedule ? Producer::baseline : Producer::search;
    plan.trees = found_.trees;
    plan.trees_bounded = found_.trees_bounded;
    plan.candidates = found_.tried + 1;
    plan.too_large = too_large_;
    plan.solver = std::move(proof_.report);
    claim(plan);
    for (std::size_t number = 1; number < candidates.size(); ++number) {
      if (candidates[number].schedule == plan.schedule) continue;
      plan.runner_up = std::move(candidates[number].schedule);
      plan.runner_up_cost = std::move(candidates[number].cost);
      plan.why = why_it_lost(plan, problem_.network);
      break;
    }
    return plan;
  }

  void claim(Plan& plan) {
    Frontier frontier = std::move(found_.frontier);
    if (!proof_.proven()) {
      frontier.left_out_any(!plan.solver.unavailable.empty() ? Why::solver_missing
                            : plan.solver.effort_spent       ? Why::effort_spent
                            : proof_.overpriced              ? Why::priced_before_known
                                                             : Why::too_many_nests);
    }
    const auto steps = std::views::iota(std::size_t{0}, plan.schedule.statements.size());
    const bool copied = std::ranges::any_of(steps, [&](std::size_t step) { return is_mark_array_copy(plan.schedule, step); });
    const bool opened = std::ranges::any_of(plan.schedule.tensors, &ScheduledTensor::opened);
    const bool beyond = std::ranges::any_of(plan.schedule.tensors, [](const ScheduledTensor& tensor) {
      const bool chained = std::ranges::any_of(tensor.format.levels, begins_chain, &Level::kind);
      const bool marked = std::ranges::any_of(tensor.format.levels, has_gaps, &Level::kind);
      return tensor.role == TensorRole::operand && tensor.converted && (tensor.format.all_dense() || chained || marked);
    });
    // What such a schedule takes less than the least without is beyond the claim, and no reason to claim less.
    const double least_ns = std::min(plan.cost.ns, problem_.options.below_ns);
    plan.optimal = frontier.claim(least_ns, plan.schedule.tree, copied || least_ns < plan.cost.ns);
    plan.proof = proof_of(plan.optimal, copied || opened || beyond, frontier.why_not(least_ns));
    if (scope_.fused) return;
    plan.proof = among_unfused + plan.proof;
    plan.optimal = Optimal::none;
  }

  const Problem problem_;
  SearchScope scope_;
  std::uint64_t limit_;
  SearchResult found_;
  Proof proof_;
  Candidate baseline_;
  std::uint64_t too_large_ = 0;
};

// One of several assignments.
Expected<Plan> plan_one(const Problem& problem) {
  if (problem.options.objective == Objective::workspace_order) return plan(problem);
  if (auto possible = check_plannable(problem); !possible) return std::unexpected(possible.error());
  return AssignmentPlanner(problem, {.chains = false}).plan();
}

Expected<Plan> plan_several(const Problem& problem, const Planner& planner, bool layouts) {
  ForestSearch forest(problem, planner, layouts);
  forest.explore();
  prove_forest(forest);
  return forest.chosen();
}

}  // namespace

Expected<Plan> plan(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (options.prove && !options.budget) {
    PlanOptions own = options;
    own.budget = std::make_shared<ProofBudget>(network.assignments.size() > 1 ? budget_of_several : budget_of_assignment);
    own.budget->effort = static_cast<std::uint64_t>(own.proof_share * static_cast<double>(own.budget->effort));
    own.budget->work = static_cast<std::uint64_t>(own.proof_share * static_cast<double>(own.budget->work));
    return plan(Problem{network, operands, own});
  }
  if (auto possible = check_plannable(problem); !possible) return std::unexpected(possible.error());
  if (std::isfinite(options.below_ns) && !is_priced_at_once(problem)) {
    PlanOptions unbounded = options;
    unbounded.below_ns = infinity;
    return plan(Problem{network, operands, unbounded});
  }
  if (network.assignments.size() > 1) return plan_several(problem, plan_one, true);
  if (options.objective == Objective::workspace_order) return plan_workspace_order(problem);
  return AssignmentPlanner(problem, {}).plan();
}

Expected<Plan> plan_unfused(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (auto possible = check_plannable(problem); !possible) return std::unexpected(possible.error());
  if (network.assignments.size() > 1) return plan_several(problem, plan_unfused, false);
  auto chosen = AssignmentPlanner(problem, unfused_scope).plan();
  if (chosen || chosen.error().kind != ErrorKind::input || options.result_patterns.empty()) return chosen;
  // Only the statement that reads the operand can write entry by entry beside it.
  const auto& [result, operand] = *options.result_patterns.begin();
  return fail(ErrorKind::unsupported,
              fmt::format("without fused loops there is no schedule that gives {} the entries of {}, as where {} stands in an inner "
                          "product of the tree ({}): use fused loops, another tree or a format",
                          result, operand, operand, chosen.error().message));
}

bool is_priced_at_once(const Problem& problem) {
  return problem.network.assignments.size() == 1 && !sparse_operands_co_iterate(problem.network, problem.operands);
}

double bound_ns(const Problem& problem) {
  if (!check_plannable(problem) || !is_priced_at_once(problem) || problem.options.objective != Objective::time) return 0;
  const TreeChoice choice = choose_trees(problem);
  if (!choice.complete || choice.trees.empty()) return 0;
  TreeBound bound(problem);
  double least = infinity;
  for (const ContractionTree& tree : choice.trees) least = std::min(least, bound.least_ns(tree, infinity));
  return least;
}

}  // namespace weft
