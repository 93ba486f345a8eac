#include "engine/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/plan/const/workspace_order.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/prove/improve.h"
#include "engine/plan/prove/interruption.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/widths.h"
#include "engine/plan/search/baseline.h"
#include "engine/plan/search/effort.h"
#include "engine/plan/search/lookups.h"
#include "engine/plan/search/open_layouts.h"
#include "engine/plan/search/forest_search.h"
#include "engine/plan/prove/prove_forest.h"
#include "engine/plan/search/search.h"
#include "engine/plan/search/smaller_intermediates.h"
#include "engine/plan/space/transposed_operands.h"

namespace weft {
namespace {

/// Opening operands in place is not among what the search decides: for sparse results, whose loops look operands up.
bool appends(const Schedule& schedule) {
  return std::any_of(schedule.tensors.begin(), schedule.tensors.end(), [](const ScheduledTensor& tensor) {
    return tensor.role == TensorRole::result && !tensor.format.all_dense();
  });
}

std::string first_difference(const Schedule& winner, const Schedule& loser, const Network& network) {
  const auto [left, right] = first_different_lines(winner, loser, network);
  if (left.empty() || right.empty()) return {};
  const std::size_t begin = right.find_first_not_of(' ');
  return right.substr(begin, right.size() - begin - 1);
}

std::string why_it_lost(const Plan& plan, const Network& network) {
  const Cost& loser = *plan.runner_up_cost;
  const std::string what = first_difference(plan.schedule, *plan.runner_up, network);
  const auto steps = [](const Cost& cost) {
    double sum = 0;
    for (const LoopCost& loop : cost.loops) sum += loop.steps;
    return sum;
  };
  const auto work = [](const Cost& cost) {
    double sum = 0;
    for (const LoopCost& loop : cost.loops) sum += loop.ns;
    return sum;
  };
  const auto parallel_nests = [](const Schedule& schedule) {
    return std::ranges::count_if(schedule.roots, [](RootReduction root) { return root != RootReduction::serial; });
  };
  constexpr double notable = 1.005;  // three digits tell it from nothing
  const double ratio = plan.cost.ns > 0 ? loser.ns / plan.cost.ns : 1;
  const std::string longer = ratio < notable ? "hardly more time" : fmt::format("{:.3g} times the time", ratio);
  if (loser.conversion_ns > plan.cost.conversion_ns) {
    return fmt::format("{}: its conversions do not pay ({})", longer, what);
  }
  if (steps(loser) > steps(plan.cost) * notable) {
    return fmt::format("{}: {:.3g} against {:.3g} loop and merge steps ({})", longer, steps(loser), steps(plan.cost),
                       what);
  }
  const bool works_more = work(loser) > work(plan.cost);
  const bool starts_more = parallel_nests(*plan.runner_up) > parallel_nests(plan.schedule);
  return fmt::format("{}: {} ({})", longer,
                     works_more    ? "its loops move more data, or through slower caches"
                     : starts_more ? "starting its threads takes longer than they save"
                                   : "it leaves threads without work",
                     what);
}

// The baseline is cut for threads wherever that is legal.
void run_serially_where_cheaper(Candidate& candidate, const Problem& problem) {
  Schedule serial = candidate.schedule;
  std::ranges::fill(serial.roots, RootReduction::serial);
  if (serial == candidate.schedule) return;
  Cost judged = cost(serial, problem);
  if (judged.ns < candidate.cost.ns) candidate = {std::move(serial), std::move(judged)};
}

Expected<Plan> choose(SearchResult found, const Problem& problem, bool must_store) {
  const auto& [network, operands, options] = problem;
  if (is_cancelled(options)) return fail(ErrorKind::cancelled, "interrupted");
  const std::uint64_t limit = usable_memory(options);
  Improvement improvement = must_store ? Improvement{} : improve(found, problem);
  if (is_cancelled(options)) return fail(ErrorKind::cancelled, "interrupted");
  // What does not need an intermediate or a conversion is always there to fall back on.
  Candidate fallback{baseline(problem), {}};
  fallback.cost = found.models->cost_of(fallback.schedule);
  if (found.candidates.empty() || fallback.cost.ns < found.candidates.front().cost.ns) run_serially_where_cheaper(fallback, problem);
  if (appends(fallback.schedule)) {
    double best_ns = std::numeric_limits<double>::infinity();
    const auto open = [&](Candidate& candidate) {
      if (candidate.cost.ns > best_ns * most_gained_by_opening) return;
      candidate = with_open_layouts(std::move(candidate), problem);
      if (candidate.cost.announced_bytes <= limit) best_ns = std::min(best_ns, candidate.cost.ns);
    };
    if (improvement.cheaper) open(*improvement.cheaper);
    for (Candidate& candidate : found.candidates) open(candidate);
    open(fallback);
  }
  const Schedule plain = fallback.schedule;
  if (improvement.cheaper) found.candidates.insert(found.candidates.begin(), *improvement.cheaper);
  const std::optional<Candidate> lookups =
      must_store ? std::nullopt : cheapest_lookups(found, problem);
  if (lookups) found.candidates.insert(found.candidates.begin(), *lookups);
  const auto stores = [](const Schedule& schedule) { return schedule.statements.size() > 1; };
  const bool any_stores = std::any_of(found.candidates.begin(), found.candidates.end(),
                                      [&](const Candidate& candidate) { return stores(candidate.schedule); });
  if (must_store && any_stores) {
    std::erase_if(found.candidates, [&](const Candidate& candidate) { return !stores(candidate.schedule); });
  }
  const bool wanted = !must_store || !any_stores || stores(plain);
  if (wanted && check(plain, problem)) {
    const auto place = std::upper_bound(found.candidates.begin(), found.candidates.end(), fallback,
                                        [](const Candidate& a, const Candidate& b) { return a.cost.ns < b.cost.ns; });
    found.candidates.insert(place, std::move(fallback));
  }
  if (found.candidates.empty()) {
    if (auto legal = check(plain, problem); !legal) return std::unexpected(legal.error());
  }
  const std::size_t all = found.candidates.size();
  std::size_t shrunk = 0;
  for (Candidate& candidate : found.candidates) {
    if (candidate.cost.announced_bytes <= limit) continue;
    // Private copies go first: the same loops on one thread.
    Schedule serial = candidate.schedule;
    std::replace(serial.roots.begin(), serial.roots.end(), RootReduction::private_copies, RootReduction::serial);
    if (serial == candidate.schedule) continue;
    candidate = {serial, cost(serial, problem)};
    if (candidate.cost.announced_bytes <= limit) ++shrunk;
  }
  const auto smallest = std::min_element(
      found.candidates.begin(), found.candidates.end(),
      [](const Candidate& left, const Candidate& right) { return left.cost.announced_bytes < right.cost.announced_bytes; });
  if (smallest->cost.announced_bytes > limit) {
    return std::unexpected(too_large(smallest->cost, limit, why_nothing_fits(found, problem)));
  }
  std::erase_if(found.candidates, [&](const Candidate& candidate) { return candidate.cost.announced_bytes > limit; });
  std::stable_sort(found.candidates.begin(), found.candidates.end(),
                   [](const Candidate& left, const Candidate& right) { return left.cost.ns < right.cost.ns; });
  Plan plan;
  plan.schedule = std::move(found.candidates.front().schedule);
  plan.cost = std::move(found.candidates.front().cost);
  const bool solved = improvement.cheaper && plan.schedule == improvement.cheaper->schedule;
  plan.producer = solved ? "z3" : plan.schedule == plain ? "baseline" : "dp";
  plan.trees = found.trees;
  plan.trees_bounded = found.trees_bounded;
  plan.solver = std::move(improvement.report);
  plan.candidates = found.tried + 1;
  plan.too_large = all - found.candidates.size() + shrunk + found.serialized + found.trees_too_large;
  const bool exhausted =
      std::find(found.exhausted.begin(), found.exhausted.end(), plan.schedule.tree) != found.exhausted.end();
  const bool all_proven = found.all_trees && found.all_exhausted;
  const bool copied = lookups && plan.schedule == lookups->schedule;
  const bool opened = std::ranges::any_of(plan.schedule.tensors, &ScheduledTensor::opened);
  // What such a schedule takes less than the least without is beyond what is claimed, and no reason to claim less.
  const bool tree_proven = exhausted || (copied && all_proven);
  plan.optimal = !improvement.proven || !tree_proven ? "false" : all_proven ? "all" : "tree";
  plan.proof = proof_of(plan.optimal, copied || opened,
                        !plan.solver.unavailable.empty()        ? "Z3 could not be asked"
                        : plan.solver.effort_spent              ? "Z3's effort was spent"
                        : improvement.overpriced                ? "layouts on the way to the result are priced before they are known"
                        : !improvement.proven                   ? "there were too many nests for Z3"
                        : found.spent                           ? "looking further would take longer than it could save"
                                                                : "not every choice of layouts for this tree was tried");
  if (must_store) plan.proof = among_unfused + plan.proof;
  for (std::size_t number = 1; number < found.candidates.size(); ++number) {
    if (found.candidates[number].schedule == plan.schedule) continue;
    plan.runner_up = std::move(found.candidates[number].schedule);
    plan.runner_up_cost = std::move(found.candidates[number].cost);
    plan.why = why_it_lost(plan, network);
    break;
  }
  return plan;
}

// With dense operands as they are given.
Expected<Plan> plan_in_place(const Problem& problem) {
  SearchResult found = search_schedules(problem, true);
  add_smaller_intermediates(found, problem);
  return choose(std::move(found), problem, false);
}

// What takes less where dense operands are converted first.
Expected<Plan> plan_transposed(Plan best, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  for (const std::vector<OperandFacts>& transposed : transposed_operands(problem)) {
    if (transposing_ns(transposed, operands, options) >= best.cost.ns) continue;
    Expected<Plan> other = plan_in_place(Problem{network, transposed, options});
    if (is_cancelled(options)) return fail(ErrorKind::cancelled, "interrupted");
    if (!other) continue;
    best.candidates += other->candidates;
    Schedule schedule = with_transposed(other->schedule, operands);
    if (!check(schedule, problem)) continue;
    Cost judged = cost(schedule, problem);
    if (judged.ns >= best.cost.ns || judged.announced_bytes > usable_memory(options)) continue;
    other->schedule = std::move(schedule);
    other->cost = std::move(judged);
    other->candidates = best.candidates;
    if (other->producer == "baseline") other->producer = "dp";  // of other facts than these
    other->runner_up = std::move(best.schedule);
    other->runner_up_cost = std::move(best.cost);
    other->why = why_it_lost(*other, network);
    if (best.optimal == "false") {
      other->optimal = best.optimal;
      other->proof = best.proof;
    } else if (other->optimal != "false") {
      other->proof = proof_of(other->optimal, true, {});
    }
    best = std::move(*other);
  }
  return best;
}

// One of several assignments.
Expected<Plan> plan_one(const Problem& problem) {
  if (problem.options.objective == Objective::workspace_order) return plan(problem);
  if (auto possible = check_plannable(problem); !possible) return std::unexpected(possible.error());
  return plan_in_place(problem);
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
    return plan(Problem{network, operands, own});
  }
  if (auto possible = check_plannable(problem); !possible) return std::unexpected(possible.error());
  if (network.assignments.size() > 1) return plan_several(problem, plan_one, true);
  if (options.objective == Objective::workspace_order) return plan_workspace_order(problem);
  Expected<Plan> in_place = plan_in_place(problem);
  return in_place ? plan_transposed(std::move(*in_place), problem) : in_place;
}

Expected<Plan> plan_unfused(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (auto possible = check_plannable(problem); !possible) return std::unexpected(possible.error());
  if (network.assignments.size() > 1) return plan_several(problem, plan_unfused, false);
  auto chosen = choose(search_schedules(problem, false), problem, true);
  if (chosen || chosen.error().kind != ErrorKind::input || options.result_patterns.empty()) return chosen;
  // Only the statement that reads the operand can write entry by entry beside it.
  const auto& [result, operand] = *options.result_patterns.begin();
  return fail(ErrorKind::unsupported,
              fmt::format("without fused loops there is no schedule that gives {} the entries of {}, as where {} stands in an inner "
                          "product of the tree ({}): use fused loops, another tree or a format",
                          result, operand, operand, chosen.error().message));
}

}  // namespace weft
