#include "engine/plan/cost/undriven.h"

#include <algorithm>

#include "engine/plan/schedule/statements.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

bool drives(const ScheduledTensor& tensor, const ScheduledAccess& access, IndexId index, const Network& network) {
  for (std::size_t level = 0; level < tensor.format.order(); ++level) {
    const std::uint32_t mode = tensor.format.mode_order[level];
    if (access.indices[mode] != index || !is_sparse(tensor.format.levels[level].kind)) continue;
    if (tensor.role != TensorRole::operand || !network.tensors[tensor.tensor].is_located(mode)) return true;
  }
  return false;
}

bool is_driven(const Schedule& schedule, const LoopCost& loop, IndexId index, const Network& network) {
  const std::size_t last = last_sharer(schedule, loop.statement, loop.depth);
  for (std::size_t number = loop.statement; number <= last; ++number) {
    for (const ScheduledAccess& factor : schedule.statements[number].factors)
      if (drives(schedule.tensors[factor.tensor], factor, index, network)) return true;
  }
  return false;
}

}  // namespace

double unexpected_ns(const Schedule& schedule, const Cost& cost, const Network& network) {
  constexpr double step_ns = 1;  // of a loop that is not expected to take any
  double ns = 0;
  for (const LoopCost& loop : cost.loops) {
    const auto index = std::ranges::find(network.indices, loop.index, &Index::name);
    if (index == network.indices.end() || loop.statement >= schedule.statements.size()) continue;
    const double missing = static_cast<double>(index->extent) - std::max(loop.steps, loop.iterations);
    if (missing <= 0 || is_driven(schedule, loop, static_cast<IndexId>(index - network.indices.begin()), network)) continue;
    ns += missing * (loop.steps > 0 ? loop.ns / loop.steps : step_ns);
  }
  return ns;
}

}  // namespace weft
