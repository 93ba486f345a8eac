#include "engine/plan/const/workspace_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "engine/plan/const/order_system.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/baseline.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/search/planned.h"
#include "engine/plan/space/contraction_variants.h"
#include "engine/plan/space/trees.h"

namespace weft {
namespace {

constexpr std::uint64_t most_effort = 40'000'000;  // of each question to Z3: some seconds
constexpr std::size_t most_models = 32;            // of one l, where nests are not legal
constexpr std::size_t most_depths = 256;           // choices of fusion depths of one model

bool is_binary(const ContractionTree& tree) {
  return std::all_of(tree.nodes.begin(), tree.nodes.end(),
                     [](const ContractionTree::Node& node) { return node.children.size() <= 2; });
}

ContractionTree chosen_tree(const Problem& problem) {
  const std::vector<ContractionTree> trees = choose_trees(problem).trees;
  const auto binary = std::find_if(trees.begin(), trees.end(), is_binary);
  return binary == trees.end() ? trees.front() : *binary;
}

// The depths at which statements may share loops, deepest first: as far as loops agree (3.1: fused while prefixes
// agree), and no less than a workspace of `order` dimensions needs.
std::vector<std::vector<std::uint32_t>> fusion_depths(const Contractions& contractions, const std::vector<std::vector<IndexId>>& loops,
                                                      std::uint32_t order) {
  const std::size_t count = contractions.steps.size();
  std::vector<std::uint32_t> needed(count, 0);
  for (std::size_t writer = 0; writer < count; ++writer) {
    const ScheduledAccess& target = contractions.steps[writer].target;
    const std::size_t reader = reader_of(contractions, target.tensor);
    if (reader == count || target.indices.size() <= order) continue;
    const auto shared = static_cast<std::uint32_t>(target.indices.size()) - order;
    for (std::size_t number = writer + 1; number <= reader; ++number) needed[number] = std::max(needed[number], shared);
  }
  std::vector<std::vector<std::uint32_t>> found{{0}};
  for (std::size_t number = 1; number < count; ++number) {
    const auto agreeing = static_cast<std::uint32_t>(std::ranges::mismatch(loops[number], loops[number - 1]).in1 - loops[number].begin());
    std::vector<std::vector<std::uint32_t>> depths;
    for (std::uint32_t depth = agreeing + 1; depth-- > needed[number];) depths.push_back({depth});
    found = concatenated(found, depths, most_depths);
  }
  return found;
}

class OrderSearch {
 public:
  explicit OrderSearch(const Problem& problem)
      : problem_(problem), tree_(chosen_tree(problem)), nodes_(step_orders(tree_, 1).front()),
        skeleton_(contractions_of(problem.network, tree_, nodes_, problem.operands, problem.options)) {}

  Expected<Plan> run() {
    std::size_t widest = 1;
    for (const ContractedTensor& tensor : skeleton_.tensors) {
      if (tensor.role == TensorRole::intermediate) widest = std::max(widest, tensor.modes.size());
    }
    const std::uint32_t least = std::max<std::uint32_t>(1, least_workspace_order(operation_tree(skeleton_)));
    for (std::uint32_t order = least; order <= widest; ++order) {
      const double share = static_cast<double>(order - least) / static_cast<double>(widest - least + 1);
      if (problem_.options.progress) problem_.options.progress("planning", share);
      const auto done = attempt(order);
      if (!done) return std::unexpected(done.error());
      if (*done) return finished();
    }
    // Legal whatever the values are, but not of the least order.
    if (illegal_ && annihilates_any(skeleton_, problem_.operands)) {
      found_ = baseline(problem_);
      proven_ = false;
      Expected<Plan> plan = finished();
      if (plan) plan->producer = Producer::baseline;
      return plan;
    }
    return std::unexpected(failure());
  }

 private:
  static Error of_objective(ErrorKind kind, std::string message) {
    return Error{.kind = kind, .message = std::move(message), .code = ErrorCode::option, .option = "objective"};
  }

  // Whether a nest with workspaces of `order` dimensions was found.
  Expected<bool> attempt(std::uint32_t order) {
    contradiction_.clear();
    auto any = answer(order, OperandLayouts::any);
    if (!any) return std::unexpected(any.error());
    if (!*any) return false;
    // A model is there; one that leaves operands as they are is better, if there is one.
    const std::optional<Schedule> first = std::move(found_);
    const bool proven = proven_;
    const auto given = answer(order, OperandLayouts::given);
    if (!given) return std::unexpected(given.error());
    if (!*given) found_ = first;
    proven_ = proven;  // what the preference found out says nothing about smaller l
    return true;
  }

  Expected<bool> answer(std::uint32_t order, OperandLayouts layouts) {
    auto system = OrderSystem::create(skeleton_, problem_.network, problem_.operands, order, layouts, problem_.options.cancelled_by);
    if (!system) return std::unexpected(of_objective(system.error().kind, "the objective workspace-order: " + system.error().message));
    for (std::size_t models = 0; models < most_models; ++models) {
      ++asked_;
      const Satisfiable satisfiable = system->solve(most_effort);
      if (is_cancelled(problem_.options)) return fail(ErrorKind::cancelled, "interrupted");
      if (auto sufficed = system->had_memory(); !sufficed) return std::unexpected(sufficed.error());
      if (satisfiable == Satisfiable::no) {
        if (models == 0) contradiction_ = system->contradiction();
        return false;
      }
      proven_ = proven_ && satisfiable == Satisfiable::yes;
      if (satisfiable == Satisfiable::unknown) return false;
      const OrderModel model = system->model();
      if (carry_out(model, order)) return true;
      if (is_cancelled(problem_.options)) return fail(ErrorKind::cancelled, "interrupted");
      proven_ = false;
      system->exclude(model);
    }
    return false;
  }

  // The schedule of a model, at the greatest fusion depths that are legal.
  bool carry_out(const OrderModel& model, std::uint32_t order) {
    std::vector<std::uint32_t> nodes;
    for (const std::uint32_t statement : model.statements) nodes.push_back(nodes_[statement]);
    Contractions contractions = contractions_of(problem_.network, tree_, nodes, problem_.operands, problem_.options);
    std::vector<std::vector<IndexId>> loops;
    for (const std::uint32_t statement : model.statements) loops.push_back(model.loops[statement]);
    for (ContractedTensor& tensor : contractions.tensors) {
      if (tensor.role == TensorRole::operand) lay_out(tensor, model.layouts[tensor.tensor]);
    }
    if (fuse(contractions, loops, order)) return true;
    if (!annihilates_any(contractions, problem_.operands)) return false;
    const std::vector<Contractions> ways = with_keyed_intermediates(std::move(contractions));
    return std::any_of(ways.begin() + 1, ways.end(), [&](const Contractions& way) { return fuse(way, loops, order); });
  }

  bool fuse(const Contractions& contractions, const std::vector<std::vector<IndexId>>& loops, std::uint32_t order) {
    const CostModel model_cost(contractions, problem_);
    for (const std::vector<std::uint32_t>& depths : fusion_depths(contractions, loops, order)) {
      if (is_cancelled(problem_.options)) return false;
      Schedule completed = complete(contractions, {loops, depths}, problem_.network, model_cost, {}, problem_.operands);
      const auto legal = check(completed, problem_);
      if (legal) {
        found_ = std::move(completed);
        return true;
      }
      if (!illegal_) illegal_ = legal.error();
    }
    return false;
  }

  void lay_out(ContractedTensor& tensor, const std::vector<std::uint32_t>& modes) const {
    const OperandFacts& facts = facts_of(problem_.operands, tensor.tensor);
    if (modes.empty() || modes == facts.format.mode_order) return;
    tensor.layout = sparse_format(modes.size(), facts.format.scalar);
    tensor.layout.mode_order = modes;
    tensor.converted = true;
  }

  // Checked, priced and held against the memory limit as a schedule of the user's; without private copies if need be.
  Expected<Plan> finished() const {
    auto plan = plan_given(*found_, problem_);
    if (!plan && plan.error().kind == ErrorKind::resource) {
      const Schedule serial = without_private_copies(*found_);
      if (serial != *found_) plan = plan_given(serial, problem_);
      if (plan) plan->too_large = 1;
    }
    if (!plan) return plan;
    plan->producer = Producer::solver;
    plan->optimal = proven_ ? Optimal::tree : Optimal::none;
    plan->candidates = asked_;
    return plan;
  }

  Error failure() const {
    if (illegal_) {
      // The expression is right, and other loops carry it out.
      const ErrorKind kind = illegal_->kind == ErrorKind::input ? ErrorKind::unsupported : illegal_->kind;
      return of_objective(kind, fmt::format("no nest that the objective workspace-order finds is legal here, for example: "
                                            "{}; use the objective time",
                                            illegal_->message));
    }
    if (contradiction_.empty()) {
      return of_objective(ErrorKind::unsupported, "the solver's effort ended before the objective workspace-order had an answer: "
                                                  "use the objective time");
    }
    const bool pinned = std::any_of(contradiction_.begin(), contradiction_.end(),
                                    [](const std::string& family) { return family.starts_with("the pinned layout"); });
    return of_objective(ErrorKind::unsupported,
                        fmt::format("no loops satisfy the objective workspace-order, which visits every operand in the order of "
                                    "its one layout; these contradict each other: {}. {}",
                                    fmt::join(contradiction_, "; "),
                                    pinned ? "Free a layout, or use the objective time" : "Use the objective time"));
  }

  const Problem problem_;
  ContractionTree tree_;
  std::vector<std::uint32_t> nodes_;  // of the tree, one per step of the skeleton
  Contractions skeleton_;
  std::optional<Schedule> found_;
  bool proven_ = true;
  std::uint64_t asked_ = 0;
  std::vector<std::string> contradiction_;  // of the last l
  std::optional<Error> illegal_;            // the first
};

}  // namespace

Expected<Plan> plan_workspace_order(const Problem& problem) {
  if (auto possible = check_plannable(problem); !possible) return std::unexpected(possible.error());
  return OrderSearch(problem).run();
}

std::string explain_workspace_order(const Plan& plan) {
  const std::uint32_t order = workspace_order(plan.schedule);
  return fmt::format("objective workspace-order: the largest workspace has {} dimension{}; l = {} is {}", order,
                     order == 1 ? "" : "s", std::max<std::uint32_t>(1, order),
                     plan.optimal == Optimal::none ? "not proven to be the least" : "the least with a solution for this tree");
}

}  // namespace weft
