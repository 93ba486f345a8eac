// The memory of nests and copies, for the solver.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "engine/plan/prove/encoding.h"
#include "engine/plan/prove/workspace_bytes.h"

namespace weft {

// Options that need the same workspace of a statement imply the same literal.
void Encoding::encode_workspaces(const Alternative& alternative, const std::vector<OperandFacts>& operands,
                                 const PlanOptions& options, Encoded& encoded) {
  const Schedule& schedule = alternative.schedule;
  const Family memory = solver_.family(memory_family);
  const WorkspaceBytes sizes(alternative, Problem{*planned().network, operands, options});
  encoded.result = sizes.of_result();
  for (std::size_t writer = 0; writer < schedule.statements.size(); ++writer) encoded.between.push_back(sizes.between(writer));
  std::map<std::tuple<std::size_t, bool, IndexSet>, Literal> known;
  const auto uses = [&](Literal option, std::size_t writer, bool drained, IndexSet outside, double bytes) {
    const auto [found, added] = known.try_emplace({writer, drained, outside});
    if (added) {
      found->second = solver_.boolean();
      encoded.workspaces.push_back({writer, drained, found->second, options_.machine.threads * bytes});
    }
    solver_.clause(std::vector{!option, found->second}, memory);
  };
  for (std::size_t number = 0; number < encoded.graph.options.size(); ++number) {
    const NestGraph::Option& option = encoded.graph.options[number];
    const NestGraph::State& state = encoded.graph.states[option.state];
    for (std::size_t writer = state.first; writer <= option.end; ++writer) {
      if (!option.body) {
        const auto drained = sizes.drained(writer, state.outside, option.index, {state.first, option.end});
        if (drained) uses(encoded.options[number], writer, true, state.outside.indices, *drained);
      }
      const ScheduledAccess& target = schedule.statements[writer].target;
      const std::size_t reader = reader_of(schedule, target.tensor);
      if (state.outside.root() || reader <= option.end || reader > state.last) continue;
      const IndexSet shared = state.outside.indices & index_set(target.indices);
      uses(encoded.options[number], writer, false, shared, sizes.inside(writer, shared));
    }
  }
}

void Encoding::encode_memory(const Alternative& alternative, const Encoded& encoded) {
  const Schedule& schedule = alternative.schedule;
  const Family memory = solver_.family(memory_family);
  const PlannedAssignment& assignment = assignments_[encoded.assignment];
  double lasting = assignment.lasting.value_or(0);
  for (const OperandFacts& operand : assignment.exact) {
    if (!assignment.lasting) lasting += static_cast<double>(operand.bytes);
  }
  double sorting = 0;
  for (std::size_t number = 0; number < schedule.tensors.size(); ++number) {
    if (!alternative.free[number]) continue;
    const OperandFacts& facts = facts_of(assignment.exact, schedule.tensors[number].tensor);
    const double entry = 4.0 * static_cast<double>(facts.format.order()) + scalar_bytes(facts.format.scalar);
    sorting = std::max(sorting, 2 * facts.statistics.nnz() * entry);
  }
  const double wanted = assignment.wanted ? encoded.result : 0;
  within(lasting_sizes(encoded, false), static_cast<double>(memory_limit_) - lasting - wanted - sorting, encoded.chosen, memory);
  for (const NestGraph::State& state : encoded.graph.states) {
    if (!state.outside.root()) continue;
    for (const std::uint32_t option : state.options) encode_nest(alternative, encoded, option, lasting + encoded.result);
  }
}

// What lives while a nest runs: intermediates that come in, pass by or leave, its workspaces (one per thread) and at
// least two private copies of what it writes.
void Encoding::encode_nest(const Alternative& alternative, const Encoded& encoded, std::size_t number, double lasting) {
  const Schedule& schedule = alternative.schedule;
  const Network& network = *assignments_[encoded.assignment].network;
  const NestGraph::Option& option = encoded.graph.options[number];
  const std::size_t first = encoded.graph.states[option.state].first;
  double live = 0;
  double leaving = 0;
  std::vector<std::string> names;  // of what is stored
  for (std::size_t writer = 0; writer <= option.end; ++writer) {
    const ScheduledAccess& target = schedule.statements[writer].target;
    const ScheduledTensor& tensor = schedule.tensors[target.tensor];
    const std::size_t reader = reader_of(schedule, target.tensor);
    const bool leaves = reader == schedule.statements.size() || reader > option.end;
    if (writer >= first && leaves) {
      double whole = scalar_bytes(tensor.format.scalar);
      for (const IndexId index : target.indices) whole *= static_cast<double>(network.indices[index].extent);
      leaving += whole;
    }
    if (tensor.role != TensorRole::intermediate || reader < first) continue;
    const bool inside = writer >= first && !leaves;
    if (!inside) live += encoded.between[writer];
    if (inside || encoded.between[writer] > 0) names.push_back(tensor.name);
  }
  if (option.reduction == RootReduction::private_copies) live += 2 * leaving;
  std::vector<std::pair<Literal, double>> sizes = lasting_sizes(encoded, true);
  for (const Workspace& workspace : encoded.workspaces) {
    const std::size_t reader = reader_of(schedule, schedule.statements[workspace.writer].target.tensor);
    const bool leaves = reader == schedule.statements.size() || reader > option.end;
    if (workspace.writer < first || workspace.writer > option.end || leaves != workspace.drained) continue;
    sizes.emplace_back(workspace.used, workspace.bytes);
    if (!workspace.drained) continue;
    const std::string& name = schedule.tensors[schedule.statements[workspace.writer].target.tensor].name;
    std::string drained = fmt::format("the workspace of {}", name);
    if (std::ranges::find(names, drained) == names.end()) names.push_back(std::move(drained));
  }
  const double room = static_cast<double>(memory_limit_) - lasting - live;
  within(std::move(sizes), room, encoded.options[number],
         solver_.family(std::string(memory_family) + fmt::format("{}", fmt::join(names, " and "))));
}

// Copies last during the whole run, whichever assignment reads them, and so do wanted results; what is stored for later
// assignments is not there yet when operands are converted.
std::vector<std::pair<Literal, double>> Encoding::lasting_sizes(const Encoded& encoded, bool running) const {
  const PlannedAssignment& assignment = assignments_[encoded.assignment];
  if (!assignment.lasting) return encoded.copies;
  std::vector<std::pair<Literal, double>> sizes = shared_sizes_;
  for (const std::size_t other : assignment.live) {
    if (running || assignments_[other].wanted) sizes.push_back(assignments_[other].result);
  }
  for (const Encoded& other : alternatives_) sizes.insert(sizes.end(), other.copies.begin(), other.copies.end());
  return sizes;
}

}  // namespace weft
