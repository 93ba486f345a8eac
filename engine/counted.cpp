#include "engine/counted.h"

#include "engine/plan/statements.h"

namespace weft {

Explanation with_counts(Explanation predicted, const CompiledNetwork& kernel, const BoundNetwork& binding) {
  const Schedule& schedule = kernel.plan().schedule;
  const auto loop_at = [&](std::uint32_t statement, std::uint32_t depth) -> ExplainedLoop* {
    const std::size_t first = first_sharer(schedule, statement, depth);
    for (ExplainedLoop& loop : predicted.loops) {
      if (loop.statement == first && loop.depth == depth) return &loop;
    }
    return nullptr;
  };
  for (std::size_t nest = 0; nest < kernel.nests().size(); ++nest) {
    const std::vector<LoopOrigin>& origins = kernel.nests()[nest].nest.loops;
    for (std::size_t loop = 0; loop < origins.size(); ++loop) {
      if (origins[loop].statement >= schedule.statements.size()) continue;
      ExplainedLoop* told = loop_at(origins[loop].statement, origins[loop].depth);
      if (told) told->counted = told->counted.value_or(0) + binding.counts()[nest][loop];
    }
  }
  for (std::uint32_t number = 0; number < predicted.statements.size(); ++number) {
    const auto depth = static_cast<std::uint32_t>(schedule.statements[number].loops.size());
    if (depth == 0) {
      predicted.statements[number].counted = 1;
    } else if (const ExplainedLoop* innermost = loop_at(number, depth - 1)) {
      predicted.statements[number].counted = innermost->counted;
    }
  }
  return predicted;
}

}  // namespace weft
