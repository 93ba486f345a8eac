// Which constraints of a plan bind: the plan is made again without each of them.
#include <fmt/format.h>

#include <algorithm>

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

class Relaxation {
 public:
  Relaxation(const Plan& plan, const Problem& problem, const Planner& planner)
      : plan_(plan), network_(problem.network), operands_(problem.operands), options_(problem.options), planner_(planner) {}

  std::vector<ExplainedConstraint> tell() {
    if (plan_.producer == Producer::user) {
      add("schedule", Problem{network_, operands_, options_});
      return std::move(told_);
    }
    for (std::size_t number = 0; number < operands_.size(); ++number) {
      if (!operands_[number].pinned) continue;
      std::vector<OperandFacts> free = operands_;
      free[number].pinned = false;
      add(fmt::format("layout of {}", network_.tensors[operands_[number].tensor].name), Problem{network_, free, options_});
    }
    const bool in_text = std::ranges::any_of(network_.assignments, [](const Assignment& assignment) {
      return std::ranges::any_of(assignment.terms, is_pinned);
    });
    if (options_.tree || in_text) {
      PlanOptions free = options_;
      free.tree.reset();
      add("contraction tree", Problem{without_trees(network_), operands_, free});
    }
    if (options_.memory_limit != ~std::uint64_t{0}) {
      PlanOptions free = options_;
      free.memory_limit = ~std::uint64_t{0};
      add(fmt::format("memory limit of {}", bytes_text(static_cast<double>(options_.memory_limit))), Problem{network_, operands_, free});
    }
    if (options_.strict_fp) {
      PlanOptions free = options_;
      free.strict_fp = false;
      add("strict floating point", Problem{network_, operands_, free});
    }
    return std::move(told_);
  }

 private:
  void add(std::string name, const Problem& problem) {
    const auto& [network, operands, options] = problem;
    // Something cheaper is enough to know that a constraint binds: a proof for each would take as long again.
    PlanOptions unproven = options;
    unproven.prove = false;
    const auto relaxed = planner_(Problem{network, operands, unproven});
    ExplainedConstraint constraint{std::move(name), false, {}};
    if (!relaxed) {
      constraint.effect = "without it there is no plan: " + relaxed.error().message;
    } else if (relaxed->cost.ns < plan_.cost.ns * 0.999) {
      constraint.binds = true;
      constraint.effect = fmt::format("without it {} instead of {}, with the tree {}", time_text(relaxed->cost.ns),
                                      time_text(plan_.cost.ns),
                                      print_trees(relaxed->schedule, scheduled_network(relaxed->schedule, network)));
    } else {
      constraint.effect = "nothing cheaper is found without it";
    }
    told_.push_back(std::move(constraint));
  }

  const Plan& plan_;
  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  const Planner& planner_;
  std::vector<ExplainedConstraint> told_;
};

}  // namespace

std::vector<ExplainedConstraint> binding_constraints(const Plan& plan, const Problem& problem, const Planner& planner) {
  return Relaxation(plan, problem, planner).tell();
}

}  // namespace weft
