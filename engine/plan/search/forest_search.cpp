#include "engine/plan/search/forest_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "engine/network/inlining.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/search/search_budget.h"

namespace weft {
namespace {

constexpr std::size_t most_inlined_factors = 16;  // of one product, as in the language
constexpr std::size_t most_free_results = 4;      // of which every choice of stored ones is planned
constexpr std::uint64_t usually_tried = 3'000;    // alternatives, before further choices of stored results are left out,
constexpr std::size_t always_tried = 3;           // beside: everything stored, results read twice stored, nothing stored
constexpr std::uint64_t tried_for_proofs = 20'000;
constexpr std::size_t most_inlined_at_last = 32;  // where nothing smaller has a plan

std::vector<Schedule> schedules_of(const std::vector<Plan>& plans) {
  std::vector<Schedule> schedules;
  for (const Plan& plan : plans) schedules.push_back(plan.schedule);
  return schedules;
}

std::string proof(const ForestAttempt& attempt, Optimal optimal) {
  if (optimal == Optimal::all) {
    return "No choice of what is stored, of its layouts, of copies that several assignments share, of trees, orders of "
           "loops and fusions takes less, as long as no fiber is copied for lookups";
  }
  if (optimal == Optimal::tree) {
    return "Where the same results are stored nothing takes less with these trees, as long as no fiber is copied for "
           "lookups; what else could be stored was not looked at in every way";
  }
  for (const Plan& part : attempt.parts) {
    if (part.optimal == Optimal::none && !part.proof.empty()) return part.proof;
  }
  return proof_of(Optimal::none, false, "not every choice of shared layouts was tried");
}

}  // namespace

ForestSearch::ForestSearch(const Problem& problem, const Planner& planner, bool layouts)
    : options_(problem.options),
      problem_{problem.network, problem.operands, options_},
      counted_(problem.options.joins.empty() ? std::vector<Occurrence>{} : occurrences(problem.network, problem.operands)),
      // Joins are counted by the accesses of the whole network; an assignment alone numbers its own.
      planner_([this, &planner](const Problem& part) {
        const auto& [one, known, with] = part;
        PlanOptions own = with;
        if (!counted_.empty()) own.joins = renumbered(with.joins, counted_, occurrences(one, known));
        own.prove = proves(with);
        auto planned = planner(Problem{one, known, own});
        if (planned && own.prove != with.prove) {
          planned->optimal = Optimal::none;
          planned->proof = proof_of(Optimal::none, false, "the effort for a proof was spent on other assignments, or other layouts");
        }
        return planned;
      }),
      layouts_(layouts && problem.options.objective == Objective::time) {
  options_.tree.reset();
  known_entries_ = !std::ranges::all_of(problem.operands, [](const OperandFacts& facts) { return facts.statistics.finite(); });
}

void ForestSearch::explore() {
  const std::vector<TensorId> dead = unread();
  std::size_t number = 0;
  for (const std::vector<TensorId>& dropped : stored_sets(dead)) {
    if (!fits(dropped, most_inlined_factors) || (number++ >= always_tried && tried_ > most_tried())) {
      all_sets_ = false;
      continue;
    }
    const std::size_t place = attempts_.size();
    attempt(problem_.network, dropped);
    // The first stores everything: a group of the reader is contracted as it would be alone.
    if (place > 0 && place < attempts_.size() && attempts_.front().dropped == dead) {
      attempt_with_trees(attempts_.front(), attempts_[place]);
    }
  }
  const std::vector<TensorId> all = unwanted(problem_.network, options_);
  if (attempts_.empty() && fits(all, most_inlined_at_last)) attempt(problem_.network, all);
  // Parentheses may leave no choice but to store results that are read on the way to a sparse one.
  if (attempts_.empty() && !known_entries_) {
    known_entries_ = true;
    attempt(problem_.network, dead);
  }
}

// Results that are not computed, and numbers: without a factor there is nothing to run, so that they become coefficients.
std::vector<TensorId> ForestSearch::unread() const {
  std::vector<TensorId> dead = unneeded(problem_.network, options_);
  for (const Assignment& assignment : problem_.network.assignments) {
    const TensorId tensor = assignment.result.tensor;
    const bool wanted = is_wanted(problem_.network.tensors[tensor].name, problem_.network, options_);
    if (assignment.terms.front().factors.empty() && !wanted && std::ranges::find(dead, tensor) == dead.end()) dead.push_back(tensor);
  }
  return dead;
}

std::vector<TensorId> ForestSearch::read_once(const std::vector<TensorId>& dead) const {
  const std::vector<std::size_t> times = times_read(inlined(problem_.network, dead));
  std::vector<TensorId> tensors;
  for (const TensorId tensor : unwanted(problem_.network, options_)) {
    if (std::ranges::find(dead, tensor) != dead.end() || times[tensor] == 1) tensors.push_back(tensor);
  }
  return tensors;
}

bool ForestSearch::fits(const std::vector<TensorId>& dropped, std::size_t most) const {
  if (!summed_in_parentheses(problem_.network, dropped).empty()) return false;
  const Network stored = inlined(problem_.network, dropped);
  return stored.indices.size() <= most_planned_indices &&
         std::ranges::all_of(stored.assignments, [&](const Assignment& assignment) {
           const Term& term = assignment.terms.front();
           return term.factors.size() <= most && std::isfinite(term.coefficient);
         });
}

// Which results are not stored: none but those not computed, those read once, all; then, where they are few or the
// costs asked for a proof, every other choice.
std::vector<std::vector<TensorId>> ForestSearch::stored_sets(const std::vector<TensorId>& dead) {
  std::vector<std::vector<TensorId>> sets{dead};
  const auto add = [&](const std::vector<TensorId>& dropped) {
    if (std::ranges::find(sets, dropped) == sets.end()) sets.push_back(dropped);
  };
  add(read_once(dead));
  const std::vector<TensorId> all = unwanted(problem_.network, options_);
  add(all);
  std::vector<TensorId> free;
  std::ranges::copy_if(all, std::back_inserter(free), [&](TensorId tensor) { return std::ranges::find(dead, tensor) == dead.end(); });
  if (!layouts_ || free.size() > most_free_results) {
    all_sets_ = sets.size() == std::size_t{1} << std::min<std::size_t>(free.size(), 63);
    return sets;
  }
  for (std::size_t chosen = 1; chosen < std::size_t{1} << free.size(); ++chosen) {
    std::vector<TensorId> dropped;
    for (const TensorId tensor : all) {
      const auto place = static_cast<std::size_t>(std::ranges::find(free, tensor) - free.begin());
      if (place == free.size() || (chosen >> place & 1) != 0) dropped.push_back(tensor);
    }
    add(dropped);
  }
  return sets;
}

std::uint64_t ForestSearch::most_tried() const {
  double best_ns = std::numeric_limits<double>::infinity();
  for (const ForestAttempt& made : attempts_) best_ns = std::min(best_ns, made.plan.cost.ns);
  return plans_in_budget(best_ns, options_, options_.prove ? tried_for_proofs : usually_tried);
}

// An inlined product that is a group in its reader is contracted as it would be alone.
void ForestSearch::attempt_with_trees(const ForestAttempt& alone, const ForestAttempt& grouped) {
  if (is_merged(grouped.stored)) return;
  Network pinned = alone.stored;
  bool changed = false;
  for (std::size_t number = 0; number + 1 < pinned.assignments.size(); ++number) {
    Assignment& assignment = pinned.assignments[number];
    Term& term = assignment.terms.front();
    const bool inlines = std::ranges::find(grouped.dropped, assignment.result.tensor) != grouped.dropped.end();
    if (!inlines || !term.open || term.factors.size() < 3) continue;
    term.pinned = alone.parts[number].schedule.tree;
    term.open = false;
    changed = true;
  }
  if (changed) attempt(pinned, grouped.dropped);
}

// Whether every product is as the user gave it, or has all the trees of what was merged into it.
bool ForestSearch::is_merged(const Network& stored) const {
  return std::ranges::all_of(stored.assignments, [&](const Assignment& assignment) {
    if (std::ranges::find(problem_.network.assignments, assignment) != problem_.network.assignments.end()) return true;
    const Term& term = assignment.terms.front();
    return term.open && canonical(term.pinned) == canonical(flat_tree(term.factors.size()));
  });
}

void ForestSearch::attempt(const Network& network, const std::vector<TensorId>& dropped) {
  ForestAttempt made;
  made.dropped = dropped;
  made.stored = inlined(network, dropped);
  for (Assignment& assignment : made.stored.assignments) {
    Term& term = assignment.terms.front();
    if (term.factors.size() > most_inlined_factors) term.open = false;  // too many trees to choose from
  }
  auto joint = plan_jointly(Problem{made.stored, problem_.operands, options_}, planner_, layouts_, judge_of(made.stored), known_entries_);
  if (!joint) {
    all_sets_ = false;
    refuse(joint.error());
    if (joint.error().kind == ErrorKind::resource) unfitting_.push_back(std::move(made));
    return;
  }
  made.parts = std::move(joint->parts);
  made.optimal = joint->all_layouts ? joint->optimal : Optimal::none;
  tried_ += joint->candidates;
  made.plan = joined_plan(made);
  attempts_.push_back(std::move(made));
}

// The cause that a user can do most about: memory before anything else.
void ForestSearch::refuse(Error error) {
  const bool better = !refused_ || (error.kind == ErrorKind::resource && refused_->kind != ErrorKind::resource);
  if (better) refused_ = std::move(error);
}

JointJudge ForestSearch::judge_of(const Network& stored) {
  return [this, &stored](const std::vector<Plan>& parts) -> Expected<double> {
    const std::vector<Schedule> schedules = schedules_of(parts);
    const Schedule schedule = parts.size() == 1 ? schedules.front() : joined(schedules, stored, options_);
    if (auto legal = check(schedule, problem_); !legal) return std::unexpected(legal.error());
    const Cost judged = cost(schedule, problem_);
    if (judged.announced_bytes <= usable_memory(options_)) return judged.ns;
    ++too_large_;
    return resource_error(fmt::format("the results and intermediates of the {} assignments need {} bytes at once but {} are "
                                      "available: ask for fewer results, or raise the memory limit",
                                      problem_.network.assignments.size(), judged.announced_bytes, usable_memory(options_)));
  };
}

Plan ForestSearch::joined_plan(const ForestAttempt& made) const {
  if (made.parts.size() == 1) {
    Plan plan = made.parts.front();
    plan.optimal = made.optimal;
    return plan;
  }
  Plan plan;
  plan.schedule = joined(schedules_of(made.parts), made.stored, options_);
  plan.cost = cost(plan.schedule, problem_);
  plan.producer = Producer::baseline;
  plan.optimal = made.optimal;
  std::vector<std::pair<double, std::size_t>> losses;  // with the runner-up of a part in its place, and that part
  for (std::size_t number = 0; number < made.parts.size(); ++number) {
    const Plan& part = made.parts[number];
    plan.candidates += part.candidates;
    plan.too_large += part.too_large;
    if (part.producer != Producer::baseline && plan.producer != Producer::solver) plan.producer = part.producer;
    if (part.runner_up) losses.emplace_back(part.runner_up_cost->ns - part.cost.ns, number);
  }
  std::ranges::sort(losses);
  for (const auto& [loss, number] : losses) {
    std::vector<Schedule> schedules = schedules_of(made.parts);
    schedules[number] = *made.parts[number].runner_up;
    Schedule other = joined(schedules, made.stored, options_);
    // The parts after it are planned for the layout that the chosen one gives its result.
    if (!check_forest(other, problem_)) continue;
    plan.runner_up_cost = cost(other, problem_);
    plan.runner_up = std::move(other);
    plan.why = why_it_lost(plan, problem_.network);
    break;
  }
  return plan;
}

ForestAttempt* ForestSearch::cheapest() {
  const auto best = std::ranges::min_element(attempts_, [&](const ForestAttempt& left, const ForestAttempt& right) {
    if (options_.objective == Objective::workspace_order) {
      const std::uint32_t least = workspace_order(left.plan.schedule);
      const std::uint32_t other = workspace_order(right.plan.schedule);
      if (least != other) return least < other;
    }
    return left.plan.cost.ns < right.plan.cost.ns;
  });
  return best == attempts_.end() ? nullptr : &*best;
}

Expected<Plan> ForestSearch::chosen() {
  if (is_cancelled(options_)) return fail(ErrorKind::cancelled, "interrupted");
  if (attempts_.empty()) return std::unexpected(*refused_);
  ForestAttempt* const best = cheapest();
  Plan plan = std::move(best->plan);
  plan.candidates = tried_;
  plan.too_large += too_large_;
  const bool all_proven = all_sets_ && std::ranges::all_of(attempts_, [&](const ForestAttempt& attempt) {
    return attempt.optimal == Optimal::all && is_merged(attempt.stored);
  });
  if (!all_proven && plan.optimal == Optimal::all) plan.optimal = Optimal::tree;
  if (options_.objective == Objective::time) {
    plan.proof = proof(*best, plan.optimal);
    if (!layouts_ && !plan.proof.starts_with(among_unfused)) plan.proof = among_unfused + plan.proof;
    if (!layouts_) plan.optimal = Optimal::none;
  }
  return plan;
}

}  // namespace weft
