#include "engine/plan/const/order_system.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/schedule_text.h"

namespace weft {
namespace {

// Positions as an order: the element at position 0 first.
std::vector<std::uint32_t> by_position(const Solver& solver, const std::vector<Integer>& positions) {
  std::vector<std::uint32_t> order(positions.size());
  for (std::uint32_t element = 0; element < positions.size(); ++element) {
    order[static_cast<std::size_t>(solver.value(positions[element]))] = element;
  }
  return order;
}

}  // namespace

OrderSystem::OrderSystem(Solver solver, const Contractions& skeleton, const Network& network)
    : solver_(std::move(solver)), skeleton_(skeleton), network_(network) {}

Expected<OrderSystem> OrderSystem::create(const Contractions& skeleton, const Network& network,
                                          const std::vector<OperandFacts>& operands, std::uint32_t order,
                                          OperandLayouts layouts, const std::vector<Cancellation>& cancelled_by) {
  auto solver = Solver::create(Tracking::families, cancelled_by);
  if (!solver) return std::unexpected(solver.error());
  OrderSystem system(std::move(*solver), skeleton, network);
  system.add_statements();
  system.add_loops();
  system.add_layouts(operands, layouts);
  system.add_concordance();
  system.add_workspaces(order);
  return system;
}

// 0 <= position < count, no two equal. "Not equal" is "smaller or greater", which the concordance needs anyway.
OrderSystem::Permutation OrderSystem::permutation(std::size_t count, Family family) {
  Permutation made;
  for (std::size_t element = 0; element < count; ++element) {
    made.positions.push_back(solver_.integer(0, static_cast<std::int64_t>(count) - 1));
  }
  made.smaller.assign(count, std::vector<Literal>(count));
  for (std::size_t left = 0; left < count; ++left) {
    for (std::size_t right = left + 1; right < count; ++right) {
      const Literal smaller = solver_.boolean();
      made.smaller[left][right] = smaller;
      made.smaller[right][left] = !smaller;
      solver_.precedes(made.positions[left], made.positions[right], smaller, family);
      solver_.precedes(made.positions[right], made.positions[left], !smaller, family);
    }
  }
  return made;
}

void OrderSystem::add_statements() {
  const Family family = solver_.family("the order of the statements");
  const std::size_t count = skeleton_.steps.size();
  statements_ = permutation(count, family);
  for (std::size_t number = 0; number < count; ++number) {
    const std::size_t reader = reader_of(skeleton_, skeleton_.steps[number].target.tensor);
    if (reader == count) continue;
    solver_.clause({statements_.smaller[number][reader]}, family);
  }
}

// `at` implies the position, not the other way round: the producer's clause needs one index AT each position, and as
// positions differ, this one alone is there.
void OrderSystem::add_loops() {
  for (const Contraction& step : skeleton_.steps) {
    const Family family = solver_.family(fmt::format("the loops of {}", print_product(skeleton_, step, network_)));
    indices_.push_back(members(indices_of(step)));
    const std::size_t count = indices_.back().size();
    loops_.push_back(permutation(count, family));
    at_.emplace_back(count);
    for (std::size_t place = 0; place < count; ++place) {
      for (std::size_t position = 0; position < count; ++position) {
        at_.back()[place].push_back(solver_.boolean());
        solver_.equals(loops_.back().positions[place], static_cast<std::int64_t>(position), at_.back()[place].back(), family);
      }
    }
  }
}

void OrderSystem::add_layouts(const std::vector<OperandFacts>& operands, OperandLayouts layouts) {
  layouts_.resize(network_.tensors.size());
  for (const ContractedTensor& tensor : skeleton_.tensors) {
    if (tensor.role != TensorRole::operand || !layouts_[tensor.tensor].positions.empty()) continue;
    const OperandFacts& facts = facts_of(operands, tensor.tensor);
    if (facts.format.all_dense()) continue;
    const Family family = solver_.family(fmt::format("one layout for all uses of {}", tensor.name));
    const std::size_t modes = facts.format.order();
    Permutation& layout = layouts_[tensor.tensor];
    layout = permutation(modes, family);
    if (layouts == OperandLayouts::any && may_be_converted(facts)) continue;
    const Family kept =
        solver_.family(fmt::format("the {} layout {} of {}", facts.pinned ? "pinned" : "given", facts.format.text(), tensor.name));
    for (std::size_t level = 1; level < modes; ++level) {
      solver_.clause({layout.smaller[facts.format.mode_order[level - 1]][facts.format.mode_order[level]]}, kept);
    }
  }
}

// dp < dp' implies lp < lp', for every pair of modes of every use of an input that is stored sparsely. Two modes with
// one index (a diagonal) have no loops to order.
void OrderSystem::add_concordance() {
  for (std::size_t number = 0; number < skeleton_.steps.size(); ++number) {
    for (const ScheduledAccess& factor : skeleton_.steps[number].factors) {
      const ContractedTensor& tensor = skeleton_.tensors[factor.tensor];
      if (tensor.role != TensorRole::operand || layouts_[tensor.tensor].positions.empty()) continue;
      const Family family = solver_.family(fmt::format("loops in the order of {}", print_access(skeleton_, factor, network_)));
      for (std::size_t left = 0; left < factor.indices.size(); ++left) {
        for (std::size_t right = 0; right < factor.indices.size(); ++right) {
          if (factor.indices[left] == factor.indices[right]) continue;
          const Literal loops_follow = loops_[number].smaller[place(number, factor.indices[left])][place(number, factor.indices[right])];
          solver_.clause({!layouts_[tensor.tensor].smaller[left][right], loops_follow}, family);
        }
      }
    }
  }
}

std::size_t OrderSystem::place(std::size_t statement, IndexId index) const {
  return static_cast<std::size_t>(std::ranges::find(indices_[statement], index) - indices_[statement].begin());
}

const Literal* OrderSystem::at(std::size_t statement, IndexId index, std::size_t position) const {
  const std::size_t found = place(statement, index);
  return std::max(found, position) < indices_[statement].size() ? &at_[statement][found][position] : nullptr;
}

void OrderSystem::add_workspaces(std::uint32_t order) {
  const std::size_t count = skeleton_.steps.size();
  for (std::size_t producer = 0; producer < count; ++producer) {
    const ScheduledAccess& target = skeleton_.steps[producer].target;
    const std::size_t consumer = reader_of(skeleton_, target.tensor);
    if (consumer == count || target.indices.size() <= order) continue;
    const Family family = solver_.family(fmt::format("a workspace of at most {} dimension{} for {}", order,
                                                     order == 1 ? "" : "s", print_access(skeleton_, target, network_)));
    for (std::size_t position = 0; position < target.indices.size() - order; ++position) {
      std::vector<Literal> any;
      for (const IndexId index : target.indices) {
        const Literal here = *at(producer, index, position);
        any.push_back(here);
        const auto follows = [&](std::size_t other, std::vector<Literal> unless) {
          unless.push_back(!here);
          if (const Literal* same = at(other, index, position)) unless.push_back(*same);
          solver_.clause(unless, family);
        };
        follows(consumer, {});
        for (std::size_t between = 0; between < count; ++between) {
          if (between == producer || between == consumer) continue;
          follows(between, {!statements_.smaller[producer][between], !statements_.smaller[between][consumer]});
        }
      }
      solver_.clause(any, family);
    }
  }
}

OrderModel OrderSystem::model() const {
  OrderModel found;
  found.statements = by_position(solver_, statements_.positions);
  for (std::size_t number = 0; number < loops_.size(); ++number) {
    found.loops.emplace_back();
    for (const std::uint32_t place : by_position(solver_, loops_[number].positions)) {
      found.loops.back().push_back(indices_[number][place]);
    }
  }
  for (const Permutation& layout : layouts_) found.layouts.push_back(by_position(solver_, layout.positions));
  return found;
}

void OrderSystem::exclude(const OrderModel& model) {
  const Family family = solver_.family("nests that are not legal here");
  std::vector<Literal> different;
  for (std::size_t place = 1; place < model.statements.size(); ++place) {
    different.push_back(statements_.smaller[model.statements[place]][model.statements[place - 1]]);
  }
  for (std::size_t number = 0; number < loops_.size(); ++number) {
    const std::vector<IndexId>& loops = model.loops[number];
    for (std::size_t loop = 1; loop < loops.size(); ++loop) {
      different.push_back(loops_[number].smaller[place(number, loops[loop])][place(number, loops[loop - 1])]);
    }
  }
  solver_.clause(different, family);
}

}  // namespace weft
