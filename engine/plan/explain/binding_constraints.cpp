// Which constraints of a plan bind: the plan is made again without each of them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/plan/explain/explanation.h"
#include "engine/plan/explain/quantities.h"

namespace weft {
namespace {

bool is_pinned(const Term& term) {
  const auto inner = std::ranges::count_if(term.pinned.nodes, [](const auto& node) { return !node.children.empty(); });
  return inner > 1 || (term.factors.size() > 2 && !term.open);
}

Network without_trees(Network network) {
  for (Assignment& assignment : network.assignments) {
    for (Term& term : assignment.terms) {
      term.pinned = flat_tree(term.factors.size());
      term.open = true;
    }
  }
  return network;
}

}  // namespace

std::vector<ExplainedConstraint> binding_constraints(const Plan& plan, const Problem& problem, const Planner& planner) {
  const auto& [network, operands, options] = problem;
  std::vector<ExplainedConstraint> told;
  const auto add = [&](std::string name, const Network& of, const std::vector<OperandFacts>& facts, PlanOptions free) {
    // Something cheaper is enough to know that a constraint binds: a proof for each would take as long again.
    free.prove = false;
    const auto relaxed = planner(Problem{of, facts, free});
    ExplainedConstraint& constraint = told.emplace_back(ExplainedConstraint{std::move(name), false, {}});
    if (!relaxed) {
      constraint.effect = "without it there is no plan: " + relaxed.error().message;
    } else if (relaxed->cost.ns < plan.cost.ns * 0.999) {
      constraint.binds = true;
      constraint.effect = fmt::format("without it {} instead of {}, with the tree {}", time_text(relaxed->cost.ns), time_text(plan.cost.ns),
                                      print_trees(relaxed->schedule, scheduled_network(relaxed->schedule, of)));
    } else {
      constraint.effect = "nothing cheaper is found without it";
    }
  };
  if (plan.producer == Producer::user) {
    add("schedule", network, operands, options);
    return told;
  }
  for (std::size_t number = 0; number < operands.size(); ++number) {
    if (!operands[number].pinned) continue;
    std::vector<OperandFacts> free = operands;
    free[number].pinned = false;
    add(fmt::format("layout of {}", network.tensors[operands[number].tensor].name), network, free, options);
  }
  const bool in_text = std::ranges::any_of(network.assignments, [](const Assignment& assignment) {
    return std::ranges::any_of(assignment.terms, is_pinned);
  });
  PlanOptions free = options;
  if (options.tree || in_text) {
    free.tree.reset();
    add("contraction tree", without_trees(network), operands, std::exchange(free, options));
  }
  if (options.memory_limit != ~std::uint64_t{0}) {
    free.memory_limit = ~std::uint64_t{0};
    add(fmt::format("memory limit of {}", bytes_text(static_cast<double>(options.memory_limit))), network, operands,
        std::exchange(free, options));
  }
  if (options.strict_fp) {
    free.strict_fp = false;
    add("strict floating point", network, operands, free);
  }
  return told;
}

}  // namespace weft
