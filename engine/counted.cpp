#include "engine/counted.h"

#include <algorithm>

#include "engine/plan/explain/explanation.h"
#include "engine/plan/schedule/statements.h"

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

Explanation with_nest_times(Explanation predicted, const CompiledNetwork& kernel, const std::vector<double>& nest_ms) {
  std::uint32_t statement = 0;  // a nest without loops of the schedule belongs to the one before
  for (std::size_t nest = 0; nest < std::min(nest_ms.size(), kernel.nests().size()); ++nest) {
    for (const LoopOrigin& origin : kernel.nests()[nest].nest.loops) {
      if (origin.statement >= predicted.statements.size()) continue;
      statement = origin.statement;
      break;
    }
    if (predicted.nests.empty()) break;
    ExplainedNest& told = nest_of(predicted, statement);
    told.measured_ms = told.measured_ms.value_or(0) + nest_ms[nest];
  }
  return predicted;
}

}  // namespace weft
