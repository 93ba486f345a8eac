#include "engine/plan/sparse_intermediates.h"

#include <algorithm>

#include "engine/plan/binding.h"
#include "engine/plan/sparse_target.h"

namespace weft {
namespace {

constexpr std::size_t most_chosen_alone = 2;

}  // namespace

std::vector<Schedule> with_sparse_intermediates(const Schedule& statements, const Network& network,
                                                const std::vector<OperandFacts>& operands) {
  std::vector<Schedule> found{statements};
  const ScheduledTensor& result = statements.tensors[statements.statements.back().target.tensor];
  if (!has_sparse_level(result.format) || result.like) return found;
  std::vector<std::uint32_t> candidates;
  for (std::size_t number = 0; number < statements.statements.size(); ++number) {
    const ScheduledAccess& target = statements.statements[number].target;
    if (statements.tensors[target.tensor].role != TensorRole::intermediate) continue;
    const IndexSet restricted = estimate_of(statements, number, network, operands).restricted();
    if ((restricted & index_set(target.indices)) != 0) candidates.push_back(target.tensor);
  }
  const std::uint64_t all = (std::uint64_t{1} << std::min<std::size_t>(candidates.size(), 63)) - 1;
  for (std::uint64_t chosen = 1; chosen <= all; ++chosen) {
    if (candidates.size() > most_chosen_alone) chosen = all;
    found.push_back(statements);
    for (std::size_t number = 0; number < candidates.size(); ++number) {
      if ((chosen >> number & 1) == 0) continue;
      for (Level& level : found.back().tensors[candidates[number]].format.levels) level.kind = LevelKind::accumulator;
    }
  }
  return found;
}

}  // namespace weft
