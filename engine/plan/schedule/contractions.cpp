#include "engine/plan/schedule/contractions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/result_format.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

// Indices of the leaves below every node.
std::vector<IndexSet> subtree_indices(const Term& term, const ContractionTree& tree) {
  std::vector<IndexSet> sets(tree.nodes.size());
  for (std::size_t number = 0; number < tree.nodes.size(); ++number) {
    const ContractionTree::Node& node = tree.nodes[number];
    if (node.children.empty()) sets[number] = index_set(term.factors[node.factor].indices);
    for (const std::uint32_t child : node.children) sets[number] |= sets[child];
  }
  return sets;
}

// What must survive the summation at every node: indices that the result or a leaf that is not below it also has.
std::vector<IndexSet> indices_needed_outside(const ContractionTree& tree, const std::vector<IndexSet>& below, IndexSet result) {
  std::vector<IndexSet> needed(tree.nodes.size(), result);
  for (std::size_t number = tree.nodes.size(); number-- > 0;) {
    for (const std::uint32_t child : tree.nodes[number].children) {
      needed[child] = needed[number];
      for (const std::uint32_t other : tree.nodes[number].children) needed[child] |= other == child ? 0 : below[other];
    }
  }
  return needed;
}

// The inner nodes at and below a node, as step_orders() has them.
std::vector<std::vector<std::uint32_t>> orders_below(const ContractionTree& tree, std::uint32_t number, std::size_t limit) {
  std::vector<std::uint32_t> inner;
  for (const std::uint32_t child : tree.nodes[number].children) {
    if (!tree.nodes[child].children.empty()) inner.push_back(child);
  }
  std::ranges::sort(inner);
  std::vector<std::vector<std::uint32_t>> orders;
  do {
    std::vector<std::vector<std::uint32_t>> partial{{}};
    for (const std::uint32_t child : inner) partial = concatenated(partial, orders_below(tree, child, limit), limit);
    for (std::vector<std::uint32_t>& order : partial) {
      if (orders.size() == limit) break;
      order.push_back(number);
      orders.push_back(std::move(order));
    }
  } while (orders.size() < limit && std::ranges::next_permutation(inner).found);
  return orders;
}

Expected<void> check_plannable_factors(const Network& network, const Assignment& assignment,
                                       const std::vector<OperandFacts>& operands, const std::vector<bool>& stored) {
  if (assignment.terms.size() != 1) return unsupported("sums of products are not supported yet: give one product");
  for (const TensorAccess& factor : assignment.terms[0].factors) {
    if (stored[factor.tensor]) continue;
    const TensorDeclaration& tensor = network.tensors[factor.tensor];
    if (!has_facts(operands, factor.tensor)) return input_error(fmt::format("operand {} is missing", tensor.name));
    if (facts_of(operands, factor.tensor).format.order() != tensor.extents.size()) {
      return input_error(fmt::format("operand {} has {} modes but the expression gives it {} indices", tensor.name,
                                     facts_of(operands, factor.tensor).format.order(), tensor.extents.size()));
    }
  }
  return {};
}

// What an option asks of a result cannot be.
std::unexpected<Error> refused(std::string option, const std::string& result, std::string message) {
  return std::unexpected(Error{
      .kind = ErrorKind::input, .message = std::move(message), .code = ErrorCode::option, .operand = result, .option = std::move(option)});
}

// A pattern that is asked for is that of a factor with the indices of the result.
Expected<void> check_plannable_pattern(const Network& network, const Assignment& assignment, const std::string& operand,
                                       const std::vector<OperandFacts>& operands) {
  const std::string& result = network.tensors[assignment.result.tensor].name;
  const IndexSet indices = index_set(assignment.result.indices);
  for (const TensorAccess& factor : assignment.terms.front().factors) {
    if (network.tensors[factor.tensor].name != operand) continue;
    const bool whole = factor.indices.size() == assignment.result.indices.size() && index_set(factor.indices) == indices;
    if (whole && has_facts(operands, factor.tensor)) return {};
  }
  return refused("patterns", result,
                 fmt::format("{} is requested like {}, which is no factor of it with the same indices", result, operand));
}

Expected<void> check_plannable_result(const TensorDeclaration& result, const PlanOptions& options) {
  const auto requested = options.result_formats.find(result.name);
  if (requested == options.result_formats.end()) return {};
  if (requested->second.order() != result.extents.size()) {
    return input_error(fmt::format("the format {} requested for {} has {} levels, the result has {} modes", requested->second.text(),
                                   result.name, requested->second.order(), result.extents.size()));
  }
  const auto is_foreign = [](const Level& level) { return is_listed(level.kind) || level.strided; };
  if (std::ranges::none_of(requested->second.levels, is_foreign)) return {};
  return refused("formats", result.name,
                 fmt::format("the format {} requested for {} is that of a workspace or of borrowed memory", requested->second.text(),
                             result.name));
}

bool reads(const Contraction& step, std::uint32_t tensor) {
  return std::ranges::find(step.factors, tensor, &ScheduledAccess::tensor) != step.factors.end();
}

}  // namespace

Expected<void> check_plannable(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (network.assignments.empty()) return input_error("there is no assignment");
  if (network.indices.size() > most_planned_indices) {
    return unsupported(fmt::format("{} indices in one network are not supported yet: at most {}", network.indices.size(),
                                   most_planned_indices));
  }
  std::vector<bool> stored(network.tensors.size(), false);
  for (const Assignment& assignment : network.assignments) {
    if (auto done = check_plannable_factors(network, assignment, operands, stored); !done) return done;
    if (auto done = check_plannable_result(network.tensors[assignment.result.tensor], options); !done) return done;
    const auto pattern = options.result_patterns.find(network.tensors[assignment.result.tensor].name);
    if (pattern != options.result_patterns.end()) {
      if (auto done = check_plannable_pattern(network, assignment, pattern->second, operands); !done) return done;
    }
    stored[assignment.result.tensor] = true;
  }
  // A number that is assigned is written into the products that read it.
  if (network.assignments.back().terms[0].factors.empty()) return input_error("a product needs at least one factor");
  return {};
}

Contractions contractions_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                             const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  return contractions_of(network, tree, order, operands, plainest_result_format(Problem{network, operands, options}));
}

Contractions contractions_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                             const std::vector<OperandFacts>& operands, const ResultFormat& result_format) {
  const Assignment& assignment = network.assignments[0];
  const Term& term = assignment.terms[0];
  const TensorDeclaration& result = network.tensors[assignment.result.tensor];

  Contractions contractions;
  std::vector<ContractedTensor>& tensors = contractions.tensors;
  tensors.reserve(term.factors.size() + order.size());
  contractions.steps.reserve(order.size());
  contractions.tree.nodes.reserve(tree.nodes.size());
  // Nodes numbered as the text of the tree names them, so that a schedule equals the one read back from its text.
  append_subtree(tree, static_cast<std::uint32_t>(tree.nodes.size() - 1), contractions.tree);
  // An intermediate is as exact as the most exact of what flows into it, and no less than the result.
  Scalar scalar = result.scalar;
  for (const TensorAccess& factor : term.factors) {
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    tensors.push_back({{network.tensors[factor.tensor].name, TensorRole::operand, factor.tensor}, Storage::stored, facts.format.scalar,
                       facts.format});
    tensors.back().located = located_modes(network.tensors[factor.tensor]);
    scalar = wider(scalar, facts.format.scalar);
  }
  std::vector<ScheduledAccess> access_of(tree.nodes.size());
  for (std::uint32_t number = 0; number < tree.nodes.size(); ++number) {
    if (!tree.nodes[number].children.empty()) continue;
    const std::uint32_t factor = tree.nodes[number].factor;
    access_of[number] = {factor, term.factors[factor].indices};
  }
  const std::vector<IndexSet> below = subtree_indices(term, tree);
  const std::vector<IndexSet> needed = indices_needed_outside(tree, below, index_set(assignment.result.indices));
  const auto root = static_cast<std::uint32_t>(tree.nodes.size() - 1);
  for (const std::uint32_t number : order) {
    Contraction step;
    const std::vector<std::uint32_t>& children = tree.nodes[number].children;
    step.factors.reserve(children.size());
    for (const std::uint32_t child : children) step.factors.push_back(std::move(access_of[child]));
    if (children.empty()) step.factors.push_back(std::move(access_of[number]));
    if (number == root) {
      step.coefficient = term.coefficient;
      step.target = {static_cast<std::uint32_t>(tensors.size()), assignment.result.indices};
    } else {
      const std::vector<IndexId> modes = members(below[number] & needed[number]);
      step.target = {static_cast<std::uint32_t>(tensors.size()), modes};
      tensors.push_back(ContractedTensor::workspace(intermediate_name(network, contractions), modes, scalar));
      access_of[number] = step.target;
    }
    contractions.steps.push_back(std::move(step));
  }
  tensors.push_back({{result.name, TensorRole::result, assignment.result.tensor}});
  set_result_format(contractions, network, result_format);
  return contractions;
}

std::uint32_t append_subtree(const ContractionTree& from, std::uint32_t node, ContractionTree& to) {
  ContractionTree::Node copy = from.nodes[node];
  for (std::uint32_t& child : copy.children) child = append_subtree(from, child, to);
  to.nodes.push_back(std::move(copy));
  return static_cast<std::uint32_t>(to.nodes.size() - 1);
}

ContractedTensor ContractedTensor::workspace(std::string name, std::vector<IndexId> modes, Scalar scalar) {
  return {{std::move(name), TensorRole::intermediate, 0, std::move(modes)}, Storage::workspace, scalar};
}

ContractedTensor contracted(const ScheduledTensor& tensor) {
  ContractedTensor made{tensor, Storage::stored, tensor.format.scalar};
  if (tensor.role == TensorRole::intermediate && tensor.format.all_dense()) made.storage = Storage::workspace;
  else if (tensor.role == TensorRole::intermediate && !may_be_computed(tensor.format)) made.storage = Storage::keyed;
  else made.layout = tensor.format;
  return made;
}

Contractions contractions_of(const Schedule& schedule) {
  Contractions contractions{schedule.tree, {}, {schedule.statements.begin(), schedule.statements.end()}};
  contractions.tensors.reserve(schedule.tensors.size());
  for (const ScheduledTensor& tensor : schedule.tensors) contractions.tensors.push_back(contracted(tensor));
  return contractions;
}

Schedule with_loops(const Contractions& contractions, const LoopNests& nests) {
  Schedule schedule;
  schedule.tree = contractions.tree;
  schedule.tensors.reserve(contractions.tensors.size());
  schedule.statements.reserve(contractions.steps.size());
  for (std::size_t step = 0; step < contractions.steps.size(); ++step)
    schedule.statements.push_back({contractions.steps[step], nests.loops[step], nests.fused[step]});
  for (const ContractedTensor& tensor : contractions.tensors) schedule.tensors.push_back({tensor, tensor.layout});
  for (const Contraction& step : contractions.steps) {
    const ContractedTensor& target = contractions.tensors[step.target.tensor];
    if (target.storage == Storage::stored) continue;
    schedule.tensors[step.target.tensor].format = dense_format(step.target.indices.size(), target.scalar);
  }
  return schedule;
}

// x, y, z, w, u, v, then x2, y2, …: short, and never the name of a tensor or an index.
std::string intermediate_name(const Network& network, const Contractions& contractions) {
  const auto taken = [&](const std::string& name) {
    return std::ranges::find(network.indices, name, &Index::name) != network.indices.end() ||
           std::ranges::find(network.tensors, name, &TensorDeclaration::name) != network.tensors.end() ||
           std::ranges::find(contractions.tensors, name, &ContractedTensor::name) != contractions.tensors.end();
  };
  for (std::size_t round = 1;; ++round) {
    for (const char letter : {'x', 'y', 'z', 'w', 'u', 'v'}) {
      std::string name = round == 1 ? std::string(1, letter) : fmt::format("{}{}", letter, round);
      if (!taken(name)) return name;
    }
  }
}

std::vector<std::vector<std::uint32_t>> step_orders(const ContractionTree& tree, std::size_t limit) {
  return orders_below(tree, static_cast<std::uint32_t>(tree.nodes.size() - 1), limit);
}

void insert_step(Contractions& contractions, std::size_t place, std::size_t reader, std::size_t factor, ContractedTensor made) {
  const auto tensor = static_cast<std::uint32_t>(contractions.tensors.size() - 1);
  for (Contraction& step : contractions.steps) {
    if (step.target.tensor >= tensor) ++step.target.tensor;
  }
  ScheduledAccess& read = contractions.steps[reader].factors[factor];
  Contraction making;
  making.target = {tensor, made.modes};
  making.factors = {std::exchange(read, making.target)};
  contractions.steps.insert(contractions.steps.begin() + static_cast<std::ptrdiff_t>(place), std::move(making));
  contractions.tensors.insert(contractions.tensors.begin() + tensor, std::move(made));
}

bool is_mark_array_copy(Steps steps, std::size_t step) {
  const Contraction& one = steps[step];
  return one.factors.size() == 1 && steps.tensor(one.target.tensor).role == TensorRole::intermediate &&
         steps.tensor(one.factors.front().tensor).role == TensorRole::operand &&
         index_set(one.target.indices) == index_set(one.factors.front().indices);
}

IndexSet indices_of(const Contraction& step) {
  IndexSet set = index_set(step.target.indices);
  for (const ScheduledAccess& factor : step.factors) set |= index_set(factor.indices);
  return set;
}

std::size_t writer_of(Steps steps, std::uint32_t tensor) {
  std::size_t number = 0;
  while (number < steps.size() && steps[number].target.tensor != tensor) ++number;
  return number;
}

std::size_t reader_of(Steps steps, std::uint32_t tensor) {
  std::size_t number = 0;
  while (number < steps.size() && !reads(steps[number], tensor)) ++number;
  return number;
}

std::size_t last_reader_of(Steps steps, std::uint32_t tensor) {
  for (std::size_t number = steps.size(); number-- > 0;) {
    if (reads(steps[number], tensor)) return number;
  }
  return steps.size();
}

bool stores_as_priced(const Contractions& contractions) {
  return std::ranges::none_of(contractions.tensors, [](const ContractedTensor& tensor) {
    return tensor.role == TensorRole::intermediate && tensor.storage == Storage::of_loops;
  });
}

}  // namespace weft
