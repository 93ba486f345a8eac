#include "engine/plan/schedule/statements.h"

#include <algorithm>

namespace weft {

Schedule::Schedule() = default;
Schedule::Schedule(const Schedule&) = default;
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(const Schedule&) = default;
Schedule& Schedule::operator=(Schedule&&) noexcept = default;
Schedule::~Schedule() = default;

std::vector<StatementRange> nests_of(const Schedule& schedule) {
  std::vector<StatementRange> nests;
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    if (schedule.statements[number].fused == 0) nests.push_back({number, number});
    else if (!nests.empty()) nests.back().last = number;
  }
  return nests;
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

IndexSet shared_indices(const Schedule& schedule, std::size_t first, std::size_t last) {
  const std::vector<IndexId>& loops = schedule.statements[first].loops;
  return index_set({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(shared_loops(schedule, first, last))});
}

bool leaves_nest(const Schedule& schedule, std::size_t writer) {
  const std::size_t reader = reader_of(schedule, schedule.statements[writer].target.tensor);
  return reader == schedule.statements.size() || shared_loops(schedule, writer, reader) == 0;
}

Schedule without_private_copies(Schedule schedule) {
  std::ranges::replace(schedule.roots, RootReduction::private_copies, RootReduction::serial);
  return schedule;
}

std::uint32_t workspace_order(const Schedule& schedule) {
  std::uint32_t largest = 0;
  for (std::size_t writer = 0; writer < schedule.statements.size(); ++writer) {
    const ScheduledAccess& target = schedule.statements[writer].target;
    const std::size_t reader = last_reader_of(schedule, target.tensor);
    if (reader == schedule.statements.size() || schedule.tensors[target.tensor].role != TensorRole::intermediate) continue;
    const IndexSet stored = index_set(target.indices) & ~shared_indices(schedule, writer, reader);
    largest = std::max(largest, static_cast<std::uint32_t>(members(stored).size()));
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
