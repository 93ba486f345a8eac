// The memory of nests and copies, for the solver.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/plan/encoding.h"

namespace weft {

double Encoding::bytes(const Encoded& encoded, const ScheduledTensor& tensor, IndexSet indices) const {
  double size = scalar_bytes(tensor.format.scalar);
  const Network& network = *assignments_[encoded.assignment].network;
  for (const IndexId index : members(indices)) size *= static_cast<double>(network.indices[index].extent);
  return size;
}

void Encoding::encode_memory(const Alternative& alternative, const Encoded& encoded) {
  const Schedule& schedule = alternative.schedule;
  const Family memory = solver_.family(memory_family);
  const PlannedAssignment& assignment = assignments_[encoded.assignment];
  double lasting = assignment.lasting.value_or(0);
  for (const OperandFacts& operand : assignment.exact) {
    if (!assignment.lasting) lasting += static_cast<double>(operand.bytes);
  }
  for (const ScheduledStatement& statement : schedule.statements) {
    const ScheduledTensor& target = schedule.tensors[statement.target.tensor];
    if (target.role != TensorRole::result || assignment.lasting) continue;
    lasting += bytes(encoded, target, index_set(statement.target.indices));
  }
  double sorting = 0;
  for (std::size_t number = 0; number < schedule.tensors.size(); ++number) {
    if (!alternative.free[number]) continue;
    const OperandFacts& facts = facts_of(assignment.exact, schedule.tensors[number].tensor);
    const double entry = 4.0 * static_cast<double>(facts.format.order()) + scalar_bytes(facts.format.scalar);
    sorting = std::max(sorting, 2 * facts.statistics.nnz() * entry);
  }
  within(copied_sizes(encoded), static_cast<double>(memory_limit_) - lasting - sorting, encoded.chosen, memory);
  // What is stored between statements of one nest, by the indices that writer and reader share.
  Workspaces stored;
  for (std::size_t number = 0; number < encoded.graph.options.size(); ++number) {
    const NestGraph::Option& option = encoded.graph.options[number];
    const NestGraph::State& state = encoded.graph.states[option.state];
    if (state.bound == 0) continue;
    for (std::size_t writer = state.first; writer <= option.end; ++writer) {
      const std::size_t reader = reader_of(schedule, schedule.statements[writer].target.tensor);
      if (reader <= option.end || reader > state.last) continue;
      const IndexSet shared = state.bound & index_set(schedule.statements[writer].target.indices);
      const auto [found, added] = stored.try_emplace({writer, shared});
      if (added) found->second = solver_.boolean();
      solver_.clause(std::vector{!encoded.options[number], found->second}, memory);
    }
  }
  for (const std::uint32_t option : encoded.graph.states[0].options) encode_nest(alternative, encoded, option, stored, lasting);
  for (std::size_t number = 1; number < encoded.graph.states.size(); ++number) {
    const NestGraph::State& state = encoded.graph.states[number];
    if (state.bound != 0) continue;
    for (const std::uint32_t option : state.options) encode_nest(alternative, encoded, option, stored, lasting);
  }
}

// What lives while a nest runs: intermediates that come in, pass by or leave, its workspaces (one per thread) and at
// least two private copies of what it writes.
void Encoding::encode_nest(const Alternative& alternative, const Encoded& encoded, std::size_t number,
                           const Workspaces& stored, double lasting) {
  const Schedule& schedule = alternative.schedule;
  const NestGraph::Option& option = encoded.graph.options[number];
  const std::size_t first = encoded.graph.states[option.state].first;
  double live = 0;
  double leaving = 0;
  std::vector<std::string> names;  // of what is stored
  for (std::size_t writer = 0; writer <= option.end; ++writer) {
    const ScheduledAccess& target = schedule.statements[writer].target;
    const ScheduledTensor& tensor = schedule.tensors[target.tensor];
    const std::size_t reader = reader_of(schedule, target.tensor);
    const double whole = bytes(encoded, tensor, index_set(target.indices));
    const bool leaves = reader == schedule.statements.size() || reader > option.end;
    if (writer >= first && leaves) leaving += whole;
    if (tensor.role != TensorRole::intermediate || reader < first) continue;
    if (leaves || writer < first) live += whole;
    names.push_back(tensor.name);
  }
  if (option.reduction == RootReduction::private_copies) live += 2 * leaving;
  const double room = static_cast<double>(memory_limit_) - lasting - live;
  const Literal chosen = encoded.options[number];
  std::vector<std::pair<Literal, double>> sizes = copied_sizes(encoded);
  for (const auto& [what, literal] : stored) {
    const auto& [writer, shared] = what;
    const ScheduledAccess& target = schedule.statements[writer].target;
    if (writer < first || reader_of(schedule, target.tensor) > option.end) continue;
    sizes.emplace_back(literal, options_.machine.threads * bytes(encoded, schedule.tensors[target.tensor],
                                                                 index_set(target.indices) & ~shared));
  }
  within(std::move(sizes), room, chosen,
         solver_.family(std::string(memory_family) + fmt::format("{}", fmt::join(names, " and "))));
}

// Copies last during the whole run, whichever assignment reads them.
std::vector<std::pair<Literal, double>> Encoding::copied_sizes(const Encoded& encoded) const {
  if (!assignments_[encoded.assignment].lasting) return encoded.copies;
  std::vector<std::pair<Literal, double>> sizes = shared_sizes_;
  for (const Encoded& other : alternatives_) sizes.insert(sizes.end(), other.copies.begin(), other.copies.end());
  return sizes;
}

}  // namespace weft
