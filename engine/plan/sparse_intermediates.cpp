#include "engine/plan/sparse_intermediates.h"

#include <algorithm>
#include <utility>

#include "engine/plan/binding.h"
#include "engine/plan/sparse_target.h"

namespace weft {
namespace {

constexpr std::size_t most_chosen_alone = 2;

// Per statement: indices that sparse operands below it restrict.
std::vector<IndexSet> restricted_indices(const Schedule& schedule) {
  std::vector<IndexSet> restricted(schedule.tensors.size());
  std::vector<IndexSet> found;
  for (const ScheduledStatement& statement : schedule.statements) {
    IndexSet all = 0;
    for (const ScheduledAccess& factor : statement.factors) {
      const ScheduledTensor& tensor = schedule.tensors[factor.tensor];
      if (tensor.role != TensorRole::operand) all |= restricted[factor.tensor];
      else if (has_sparse_level(tensor.format)) all |= index_set(factor.indices);
    }
    restricted[statement.target.tensor] = all;
    found.push_back(all);
  }
  return found;
}

}  // namespace

std::vector<Schedule> with_sparse_intermediates(Schedule statements) {
  const ScheduledTensor& result = statements.tensors[statements.statements.back().target.tensor];
  if (has_sparse_level(result.format) && !result.like) return with_keyed_intermediates(std::move(statements));
  std::vector<Schedule> found;
  found.push_back(std::move(statements));
  return found;
}

std::vector<Schedule> with_keyed_intermediates(Schedule statements) {
  std::vector<Schedule> found;
  found.push_back(std::move(statements));
  std::vector<std::uint32_t> candidates;
  {
    const Schedule& plain = found.front();
    const std::vector<IndexSet> restricted = restricted_indices(plain);
    for (std::size_t number = 0; number < plain.statements.size(); ++number) {
      const ScheduledAccess& target = plain.statements[number].target;
      const bool intermediate = plain.tensors[target.tensor].role == TensorRole::intermediate;
      if (intermediate && (restricted[number] & index_set(target.indices)) != 0) candidates.push_back(target.tensor);
    }
  }
  const std::uint64_t all = (std::uint64_t{1} << std::min<std::size_t>(candidates.size(), 63)) - 1;
  for (std::uint64_t chosen = 1; chosen <= all; ++chosen) {
    if (candidates.size() > most_chosen_alone) chosen = all;
    found.push_back(found.front());
    for (std::size_t number = 0; number < candidates.size(); ++number) {
      if ((chosen >> number & 1) == 0) continue;
      for (Level& level : found.back().tensors[candidates[number]].format.levels) level.kind = LevelKind::accumulator;
    }
  }
  return found;
}

}  // namespace weft
