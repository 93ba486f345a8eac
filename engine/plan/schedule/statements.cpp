#include "engine/plan/schedule/statements.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/schedule/shared_pattern.h"
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

// Of all leaves but those below a node.
IndexSet indices_beside(const Term& term, const ContractionTree& tree, std::uint32_t number, std::uint32_t below) {
  if (number == below) return 0;
  const ContractionTree::Node& node = tree.nodes[number];
  IndexSet beside = node.children.empty() ? index_set(term.factors[node.factor].indices) : 0;
  for (const std::uint32_t child : node.children) beside |= indices_beside(term, tree, child, below);
  return beside;
}

// What must survive the summation at a node: indices that the result or a factor outside the subtree also has.
IndexSet indices_needed_outside(const Assignment& assignment, const ContractionTree& tree, std::uint32_t number) {
  const auto root = static_cast<std::uint32_t>(tree.nodes.size() - 1);
  return index_set(assignment.result.indices) | indices_beside(assignment.terms[0], tree, root, number);
}

// Nodes numbered as the text of the tree names them, so that a schedule equals the one read back from its text.
std::uint32_t append_post_order(const ContractionTree& tree, std::uint32_t number, ContractionTree& ordered) {
  ContractionTree::Node node = tree.nodes[number];
  for (std::uint32_t& child : node.children) child = append_post_order(tree, child, ordered);
  ordered.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(ordered.nodes.size() - 1);
}

void append_orders(const ContractionTree& tree, std::uint32_t number, std::size_t limit,
                   std::vector<std::vector<std::uint32_t>>& orders) {
  std::vector<std::uint32_t> inner;
  for (const std::uint32_t child : tree.nodes[number].children) {
    if (!tree.nodes[child].children.empty()) inner.push_back(child);
  }
  if (inner.size() < 2) {
    const std::size_t before = orders.size();
    if (inner.empty()) orders.emplace_back();
    else append_orders(tree, inner.front(), limit, orders);
    for (std::size_t order = before; order < orders.size(); ++order) orders[order].push_back(number);
    return;
  }
  std::sort(inner.begin(), inner.end());
  std::vector<std::vector<std::uint32_t>> result;
  do {
    std::vector<std::vector<std::uint32_t>> partial{{}};
    for (const std::uint32_t child : inner) {
      std::vector<std::vector<std::uint32_t>> below;
      append_orders(tree, child, limit, below);
      std::vector<std::vector<std::uint32_t>> longer;
      for (const std::vector<std::uint32_t>& head : partial) {
        for (const std::vector<std::uint32_t>& tail : below) {
          if (longer.size() == limit) break;
          longer.push_back(head);
          longer.back().insert(longer.back().end(), tail.begin(), tail.end());
        }
      }
      partial = std::move(longer);
    }
    for (std::vector<std::uint32_t>& order : partial) {
      if (result.size() == limit) break;
      order.push_back(number);
      result.push_back(std::move(order));
    }
  } while (result.size() < limit && std::next_permutation(inner.begin(), inner.end()));
  orders.insert(orders.end(), result.begin(), result.end());
}

Expected<void> check_plannable_factors(const Network& network, const Assignment& assignment,
                                       const std::vector<OperandFacts>& operands, const std::vector<bool>& stored) {
  if (assignment.terms.size() != 1) {
    return unsupported("sums of products are not supported yet: give one product");
  }
  for (const TensorAccess& factor : assignment.terms[0].factors) {
    if (stored[factor.tensor]) continue;
    const TensorDeclaration& tensor = network.tensors[factor.tensor];
    const bool known = std::any_of(operands.begin(), operands.end(),
                                   [&](const OperandFacts& operand) { return operand.tensor == factor.tensor; });
    if (!known) return input_error(fmt::format("operand {} is missing", tensor.name));
    if (facts_of(operands, factor.tensor).format.order() != tensor.extents.size()) {
      return input_error(fmt::format("operand {} has {} modes but the expression gives it {} indices", tensor.name,
                                     facts_of(operands, factor.tensor).format.order(), tensor.extents.size()));
    }
  }
  return {};
}

// A pattern that is asked for is that of a factor with the indices of the result.
Expected<void> check_plannable_pattern(const Network& network, const Assignment& assignment, const std::string& operand,
                                       const std::vector<OperandFacts>& operands) {
  const std::string& result = network.tensors[assignment.result.tensor].name;
  const IndexSet indices = index_set(assignment.result.indices);
  for (const TensorAccess& factor : assignment.terms.front().factors) {
    if (network.tensors[factor.tensor].name != operand) continue;
    const bool whole = factor.indices.size() == assignment.result.indices.size() && index_set(factor.indices) == indices;
    const bool known = std::ranges::any_of(operands, [&](const OperandFacts& facts) { return facts.tensor == factor.tensor; });
    if (whole && known) return {};
  }
  return input_error(fmt::format("{} is requested like {}, which is no factor of it with the same indices", result, operand));
}

Expected<void> check_plannable_result(const TensorDeclaration& result, const PlanOptions& options) {
  const auto requested = options.result_formats.find(result.name);
  if (requested == options.result_formats.end()) return {};
  if (requested->second.order() != result.extents.size()) {
    return input_error(fmt::format("the format {} requested for {} has {} levels, the result has {} modes",
                                   requested->second.text(), result.name, requested->second.order(),
                                   result.extents.size()));
  }
  const bool workspace = std::ranges::any_of(requested->second.levels, [](const Level& level) {
    return is_listed(level.kind) || level.strided;
  });
  if (!workspace) return {};
  return input_error(fmt::format("the format {} requested for {} is that of a workspace or of borrowed memory",
                                 requested->second.text(), result.name));
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

Schedule statements_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                       const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  return statements_of(network, tree, order, operands, plainest_result_format(Problem{network, operands, options}));
}

Schedule statements_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                       const std::vector<OperandFacts>& operands, const ResultFormat& result_format) {
  const Assignment& assignment = network.assignments[0];
  const Term& term = assignment.terms[0];
  const TensorDeclaration& result = network.tensors[assignment.result.tensor];

  Schedule schedule;
  schedule.tensors.reserve(term.factors.size() + order.size());
  schedule.statements.reserve(order.size());
  schedule.tree.nodes.reserve(tree.nodes.size());
  append_post_order(tree, static_cast<std::uint32_t>(tree.nodes.size() - 1), schedule.tree);
  // An intermediate is as exact as the most exact of what flows into it, and no less than the result.
  Scalar scalar = result.scalar;
  for (const TensorAccess& factor : term.factors) {
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    schedule.tensors.push_back(
        {network.tensors[factor.tensor].name, TensorRole::operand, factor.tensor, {}, facts.format, false});
    schedule.tensors.back().located = located_modes(network.tensors[factor.tensor]);
    scalar = wider(scalar, facts.format.scalar);
  }
  std::vector<ScheduledAccess> access_of(tree.nodes.size());
  for (std::uint32_t number = 0; number < tree.nodes.size(); ++number) {
    if (!tree.nodes[number].children.empty()) continue;
    const std::uint32_t factor = tree.nodes[number].factor;
    access_of[number] = {factor, term.factors[factor].indices};
  }
  const std::vector<IndexSet> below = subtree_indices(term, tree);
  const auto root = static_cast<std::uint32_t>(tree.nodes.size() - 1);
  for (const std::uint32_t number : order) {
    ScheduledStatement statement;
    const std::vector<std::uint32_t>& children = tree.nodes[number].children;
    statement.factors.reserve(children.size());
    for (const std::uint32_t child : children) statement.factors.push_back(std::move(access_of[child]));
    if (children.empty()) statement.factors.push_back(std::move(access_of[number]));
    if (number == root) {
      statement.coefficient = term.coefficient;
      statement.target = {static_cast<std::uint32_t>(schedule.tensors.size()), assignment.result.indices};
    } else {
      const std::vector<IndexId> modes = members(below[number] & indices_needed_outside(assignment, tree, number));
      statement.target = {static_cast<std::uint32_t>(schedule.tensors.size()), modes};
      schedule.tensors.push_back({intermediate_name(network, schedule.tensors), TensorRole::intermediate, 0, modes,
                                  dense_format(modes.size(), scalar), false});
      access_of[number] = statement.target;
    }
    schedule.statements.push_back(std::move(statement));
  }
  schedule.tensors.push_back({result.name, TensorRole::result, assignment.result.tensor, {}, {}, false});
  set_result_format(schedule, network, result_format);
  return schedule;
}

// x, y, z, w, u, v, then x2, y2, …: short, and never the name of a tensor or an index.
std::string intermediate_name(const Network& network, const std::vector<ScheduledTensor>& tensors) {
  const auto taken = [&](const std::string& name) {
    return std::ranges::find(network.indices, name, &Index::name) != network.indices.end() ||
           std::ranges::find(network.tensors, name, &TensorDeclaration::name) != network.tensors.end() ||
           std::ranges::find(tensors, name, &ScheduledTensor::name) != tensors.end();
  };
  for (std::size_t round = 1;; ++round) {
    for (const char letter : {'x', 'y', 'z', 'w', 'u', 'v'}) {
      std::string name = round == 1 ? std::string(1, letter) : fmt::format("{}{}", letter, round);
      if (!taken(name)) return name;
    }
  }
}

std::vector<std::vector<std::uint32_t>> statement_orders(const ContractionTree& tree, std::size_t limit) {
  std::vector<std::vector<std::uint32_t>> orders;
  append_orders(tree, static_cast<std::uint32_t>(tree.nodes.size() - 1), limit, orders);
  return orders;
}

bool is_mark_array_copy(const Schedule& schedule, std::size_t statement) {
  const ScheduledStatement& one = schedule.statements[statement];
  return one.factors.size() == 1 && schedule.tensors[one.target.tensor].role == TensorRole::intermediate &&
         schedule.tensors[one.factors.front().tensor].role == TensorRole::operand &&
         index_set(one.target.indices) == index_set(one.factors.front().indices);
}

IndexSet indices_of(const ScheduledStatement& statement) {
  IndexSet set = index_set(statement.target.indices);
  for (const ScheduledAccess& factor : statement.factors) set |= index_set(factor.indices);
  return set;
}

std::size_t writer_of(const Schedule& schedule, std::uint32_t tensor) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (schedule.statements[number].target.tensor == tensor) return number;
  }
  return schedule.statements.size();
}

std::size_t reader_of(const Schedule& schedule, std::uint32_t tensor) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    for (const ScheduledAccess& factor : schedule.statements[number].factors) {
      if (factor.tensor == tensor) return number;
    }
  }
  return schedule.statements.size();
}

std::size_t last_reader_of(const Schedule& schedule, std::uint32_t tensor) {
  for (std::size_t number = schedule.statements.size(); number-- > 0;) {
    for (const ScheduledAccess& factor : schedule.statements[number].factors) {
      if (factor.tensor == tensor) return number;
    }
  }
  return schedule.statements.size();
}

std::size_t first_sharer(const Schedule& schedule, std::size_t statement, std::size_t depth) {
  while (statement > 0 && schedule.statements[statement].fused > depth) --statement;
  return statement;
}

std::size_t last_sharer(const Schedule& schedule, std::size_t statement, std::size_t depth) {
  while (statement + 1 < schedule.statements.size() && schedule.statements[statement + 1].fused > depth) ++statement;
  return statement;
}

std::size_t shared_loops(const Schedule& schedule, std::size_t first, std::size_t last) {
  std::size_t shared = schedule.statements[first].loops.size();
  for (std::size_t number = first + 1; number <= last; ++number) {
    shared = std::min<std::size_t>(shared, schedule.statements[number].fused);
  }
  return shared;
}

std::uint32_t workspace_order(const Schedule& schedule) {
  std::uint32_t largest = 0;
  for (std::size_t writer = 0; writer < schedule.statements.size(); ++writer) {
    const ScheduledAccess& target = schedule.statements[writer].target;
    const std::size_t reader = last_reader_of(schedule, target.tensor);
    if (reader == schedule.statements.size() || schedule.tensors[target.tensor].role != TensorRole::intermediate) continue;
    const std::vector<IndexId>& loops = schedule.statements[writer].loops;
    const auto shared = static_cast<std::ptrdiff_t>(shared_loops(schedule, writer, reader));
    const IndexSet outside = index_set({loops.begin(), loops.begin() + shared});
    largest = std::max(largest, static_cast<std::uint32_t>(members(index_set(target.indices) & ~outside).size()));
  }
  return largest;
}

Schedule merge_layouts(Schedule schedule) {
  bool any = false;
  for (auto tensor = schedule.tensors.begin(); tensor != schedule.tensors.end() && !any; ++tensor) {
    any = tensor->role == TensorRole::operand && std::find(schedule.tensors.begin(), tensor, *tensor) != tensor;
  }
  if (!any) return schedule;
  std::vector<ScheduledTensor> kept;
  std::vector<std::uint32_t> renumbered;
  for (ScheduledTensor& tensor : schedule.tensors) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const ScheduledTensor& other) {
      return tensor.role == TensorRole::operand && other == tensor;
    });
    renumbered.push_back(static_cast<std::uint32_t>(same - kept.begin()));
    if (same == kept.end()) kept.push_back(std::move(tensor));
  }
  schedule.tensors = std::move(kept);
  for (ScheduledTensor& tensor : schedule.tensors) {
    if (tensor.like) tensor.like = renumbered[*tensor.like];
  }
  for (ScheduledStatement& statement : schedule.statements) {
    statement.target.tensor = renumbered[statement.target.tensor];
    for (ScheduledAccess& factor : statement.factors) factor.tensor = renumbered[factor.tensor];
  }
  return schedule;
}

}  // namespace weft
