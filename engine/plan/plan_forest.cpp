#include "engine/plan/plan_forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "engine/network/inlining.h"
#include "engine/plan/binding.h"
#include "engine/plan/check.h"
#include "engine/plan/forest.h"
#include "engine/plan/memory_demand.h"
#include "engine/plan/product_estimate.h"
#include "engine/plan/result_format.h"
#include "engine/plan/statements.h"
#include "engine/plan/workspace_order.h"

namespace weft {
namespace {

constexpr std::size_t most_inlined_factors = 16;  // of one product, as in the language
constexpr std::size_t most_spliced_factors = 32;  // contracted in one piece beyond that

class ForestPlanner {
 public:
  ForestPlanner(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options,
                const AssignmentPlanner& planner)
      : network_(network), operands_(operands), options_(options), planner_(planner) {
    options_.tree.reset();
  }

  Expected<Plan> plan() {
    const std::vector<TensorId> dead = unread();
    const std::vector<TensorId> once = read_once(dead);
    const std::vector<TensorId> all = unwanted();
    if (once.size() == dead.size() && all.size() == dead.size()) {  // nothing to choose
      attempt(network_, dead);
    } else {
      const auto stored = attempt(network_, dead);
      if (fits(once)) {
        if (attempt(network_, once) && stored) attempt_with_trees(*stored, dead, once);
      }
      if (all.size() != once.size() && fits(all)) attempt(network_, all);
    }
    // Beside NaN and Inf an intermediate may have to go that only the boundary of two assignments asks for.
    if (attempts_.empty() && fits(all, most_spliced_factors)) attempt(network_, all, Grouping::spliced);
    return choose();
  }

 private:
  struct Attempt {
    Network stored;           // what the schedule speaks of
    std::vector<Plan> parts;  // per assignment of `stored`
    Plan plan;
  };

  const std::string& name_of(const Assignment& assignment) const { return network_.tensors[assignment.result.tensor].name; }

  std::vector<TensorId> unwanted() const {
    std::vector<TensorId> tensors;
    for (const Assignment& assignment : network_.assignments) {
      if (!is_wanted(name_of(assignment), network_, options_)) tensors.push_back(assignment.result.tensor);
    }
    return tensors;
  }

  // What is not computed, and numbers: without a factor there is nothing to run, so that they become coefficients.
  std::vector<TensorId> unread() const {
    std::vector<TensorId> dead = unneeded(network_, options_);
    for (const Assignment& assignment : network_.assignments) {
      const bool number = assignment.terms.front().factors.empty() && !is_wanted(name_of(assignment), network_, options_);
      const TensorId tensor = assignment.result.tensor;
      if (number && std::find(dead.begin(), dead.end(), tensor) == dead.end()) dead.push_back(tensor);
    }
    return dead;
  }

  std::vector<TensorId> read_once(const std::vector<TensorId>& dead) const {
    const std::vector<std::size_t> times = times_read(inlined(network_, dead));
    std::vector<TensorId> tensors;
    for (const TensorId tensor : unwanted()) {
      const bool is_dead = std::find(dead.begin(), dead.end(), tensor) != dead.end();
      if (is_dead || times[tensor] == 1) tensors.push_back(tensor);
    }
    return tensors;
  }

  bool fits(const std::vector<TensorId>& dropped, std::size_t most = most_inlined_factors) const {
    const Network stored = inlined(network_, dropped);
    return stored.indices.size() <= most_planned_indices &&
           std::all_of(stored.assignments.begin(), stored.assignments.end(), [&](const Assignment& assignment) {
             const Term& term = assignment.terms.front();
             return term.factors.size() <= most && std::isfinite(term.coefficient);
           });
  }

  // An inlined product that is a group in its reader is contracted as it would be alone.
  void attempt_with_trees(const Attempt& alone, const std::vector<TensorId>& dead, const std::vector<TensorId>& dropped) {
    Network pinned = inlined(network_, dead);
    bool changed = false;
    for (std::size_t number = 0; number + 1 < pinned.assignments.size(); ++number) {
      Assignment& assignment = pinned.assignments[number];
      Term& term = assignment.terms.front();
      const bool inlines = std::find(dropped.begin(), dropped.end(), assignment.result.tensor) != dropped.end();
      if (!inlines || !term.open || term.factors.size() < 3) continue;
      term.pinned = alone.parts[number].schedule.tree;
      term.open = false;
      changed = true;
    }
    if (changed) attempt(pinned, dropped);
  }

  const Attempt* attempt(const Network& network, const std::vector<TensorId>& dropped,
                         Grouping grouping = Grouping::merged) {
    Attempt made;
    made.stored = inlined(network, dropped, grouping);
    for (Assignment& assignment : made.stored.assignments) {
      Term& term = assignment.terms.front();
      if (term.factors.size() > most_inlined_factors) term.open = false;  // too many trees to choose from
    }
    if (auto planned = planned_parts(made); !planned) {
      refuse(planned.error());
      return nullptr;
    }
    made.plan = joined_plan(made);
    tried_ += made.plan.candidates;
    if (auto legal = check(made.plan.schedule, network_, operands_, options_); !legal) {
      refuse(legal.error());
      return nullptr;
    }
    if (made.plan.cost.announced_bytes > usable_memory(options_)) {
      ++too_large_;
      refuse({ErrorKind::resource,
              fmt::format("the results and intermediates of the {} assignments need {} bytes at once but {} are available: "
                          "ask for fewer results, or raise the memory limit",
                          network_.assignments.size(), made.plan.cost.announced_bytes, usable_memory(options_))});
      return nullptr;
    }
    attempts_.push_back(std::move(made));
    return &attempts_.back();
  }

  // The cause that a user can do most about: memory before anything else.
  void refuse(Error error) {
    const bool better = !refused_ || (error.kind == ErrorKind::resource && refused_->kind != ErrorKind::resource);
    if (better) refused_ = std::move(error);
  }

  Expected<void> planned_parts(Attempt& made) {
    std::vector<OperandFacts> known = operands_;
    for (std::size_t number = 0; number < made.stored.assignments.size(); ++number) {
      const Assignment& assignment = made.stored.assignments[number];
      PlanOptions options = options_;
      options.memory_limit = room(made, number);
      auto plan = planner_(part_network(made.stored, number), known, options);
      if (!plan) return std::unexpected(plan.error());
      const Schedule& schedule = plan->schedule;
      const Format format = schedule.tensors[schedule.statements.back().target.tensor].format;
      known.push_back(stored_facts(made.stored, assignment, format, known));
      made.parts.push_back(std::move(*plan));
    }
    return {};
  }

  // Whether a result has compressed levels: as requested, or by what its operands alone let through.
  bool is_sparse(const Network& stored, const Assignment& assignment) const {
    const std::string& name = stored.tensors[assignment.result.tensor].name;
    if (const auto asked = options_.result_formats.find(name); asked != options_.result_formats.end()) {
      return !asked->second.all_dense();
    }
    if (options_.result_patterns.contains(name)) return true;
    std::vector<TensorAccess> known;
    for (const TensorAccess& factor : assignment.terms.front().factors) {
      if (std::ranges::find(operands_, factor.tensor, &OperandFacts::tensor) != operands_.end()) known.push_back(factor);
    }
    const ProductEstimate estimate(stored, operands_, known);
    const IndexSet restricted = estimate.restricted() & index_set(assignment.result.indices);
    return restricted != 0 && estimate.fill(restricted) < sparse_fill;
  }

  // What the dense results of later assignments leave.
  std::uint64_t room(const Attempt& made, std::size_t number) const {
    if (options_.memory_limit == ~std::uint64_t{0}) return options_.memory_limit;
    double left = static_cast<double>(options_.memory_limit);
    for (std::size_t later = number + 1; later < made.stored.assignments.size(); ++later) {
      const TensorDeclaration& result = made.stored.tensors[made.stored.assignments[later].result.tensor];
      if (is_sparse(made.stored, made.stored.assignments[later])) continue;  // charged as it grows
      double bytes = scalar_bytes(result.scalar);
      for (const std::uint64_t extent : result.extents) bytes *= static_cast<double>(extent);
      left -= bytes;
    }
    return static_cast<std::uint64_t>(std::max(0.0, left));
  }

  Schedule schedule_with(const Attempt& made, std::size_t replaced, const Schedule& other) const {
    std::vector<Schedule> parts;
    for (std::size_t number = 0; number < made.parts.size(); ++number) {
      parts.push_back(number == replaced ? other : made.parts[number].schedule);
    }
    return parts.size() == 1 ? parts.front() : joined(parts, made.stored, options_);
  }

  Plan joined_plan(const Attempt& made) const {
    if (made.parts.size() == 1) {
      Plan plan = made.parts.front();
      const Term& term = made.stored.assignments.front().terms.front();
      // All trees of a product that everything was merged into: among them those that store what was merged.
      const bool merged = term.open && canonical(term.pinned) == canonical(flat_tree(term.factors.size()));
      if (!merged && plan.optimal == "all") plan.optimal = "tree";
      return plan;
    }
    Plan plan;
    plan.schedule = schedule_with(made, made.parts.size(), {});
    plan.cost = cost(plan.schedule, network_, operands_, options_);
    plan.producer = "baseline";
    plan.optimal = shares_conversions(made) ? "false" : "all";
    for (std::size_t number = 0; number < made.parts.size(); ++number) {
      const Plan& part = made.parts[number];
      plan.candidates += part.candidates;
      plan.too_large += part.too_large;
      if (part.producer != "baseline" && plan.producer != "z3") plan.producer = part.producer;
      if (part.optimal == "false" || (part.optimal == "tree" && plan.optimal == "all")) plan.optimal = part.optimal;
      if (!part.runner_up) continue;
      const Schedule other = schedule_with(made, number, *part.runner_up);
      // The parts after it are planned for the layout that the chosen one gives its result.
      if (!check_forest(other, network_, operands_, options_)) continue;
      Cost judged = cost(other, network_, operands_, options_);
      if (plan.runner_up && plan.runner_up_cost->ns <= judged.ns) continue;
      plan.runner_up = other;
      plan.runner_up_cost = std::move(judged);
      plan.why = part.why;
    }
    return plan;
  }

  // Each part pays for its conversions alone: where two could share one, the sum of the best need not be the best.
  bool shares_conversions(const Attempt& made) const {
    return std::any_of(operands_.begin(), operands_.end(), [&](const OperandFacts& facts) {
      const auto readers = std::count_if(
          made.stored.assignments.begin(), made.stored.assignments.end(), [&](const Assignment& assignment) {
            const std::vector<TensorAccess>& factors = assignment.terms.front().factors;
            return std::any_of(factors.begin(), factors.end(),
                               [&](const TensorAccess& factor) { return factor.tensor == facts.tensor; });
          });
      return readers > 1 && may_be_converted(facts);
    });
  }

  Expected<Plan> choose() {
    if (attempts_.empty()) return std::unexpected(*refused_);
    const auto best = std::min_element(attempts_.begin(), attempts_.end(), [&](const Attempt& left, const Attempt& right) {
      if (options_.objective == Objective::workspace_order) {
        const std::uint32_t least = workspace_order(left.plan.schedule);
        const std::uint32_t other = workspace_order(right.plan.schedule);
        if (least != other) return least < other;
      }
      return left.plan.cost.ns < right.plan.cost.ns;
    });
    Plan plan = std::move(best->plan);
    plan.candidates = tried_;
    plan.too_large += too_large_;
    // Which results are stored was tried in a few ways, not in all.
    if (attempts_.size() > 1 && plan.optimal == "all" && best->parts.size() > 1) plan.optimal = "tree";
    return plan;
  }

  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  PlanOptions options_;
  const AssignmentPlanner& planner_;
  std::deque<Attempt> attempts_;  // pointers to them last
  std::optional<Error> refused_;
  std::uint64_t tried_ = 0;
  std::uint64_t too_large_ = 0;
};

}  // namespace

Expected<Plan> plan_forest(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options,
                           const AssignmentPlanner& planner) {
  return ForestPlanner(network, operands, options, planner).plan();
}

}  // namespace weft
