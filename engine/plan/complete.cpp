#include "engine/plan/complete.h"

#include <algorithm>

#include "engine/plan/binding.h"

namespace weft {
namespace {

void realize_layouts(Schedule& schedule, const CostModel& model, const std::vector<bool>& free,
                     const std::vector<OperandFacts>& operands) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
      const std::uint32_t position = statement.factors[factor].tensor;
      if (!free[position]) continue;
      ScheduledTensor& tensor = schedule.tensors[position];
      const OperandFacts& facts = facts_of(operands, tensor.tensor);
      const Format realized = model.factor(number, factor).realized(statement.loops);
      if (same_layout(realized, facts.format)) continue;
      tensor.format = realized;
      tensor.converted = true;
    }
  }
  // Dense intermediates follow the loops of their writer, so that its innermost loop runs over adjacent entries.
  for (const ScheduledStatement& statement : schedule.statements) {
    ScheduledTensor& target = schedule.tensors[statement.target.tensor];
    if (target.role != TensorRole::intermediate) continue;
    target.format.mode_order.clear();
    for (const IndexId index : statement.loops) {
      const auto mode = std::find(target.modes.begin(), target.modes.end(), index) - target.modes.begin();
      if (static_cast<std::size_t>(mode) < target.modes.size()) {
        target.format.mode_order.push_back(static_cast<std::uint32_t>(mode));
      }
    }
  }
}

void decide_loops(Schedule& schedule, const CostModel& model) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    ScheduledStatement& statement = schedule.statements[number];
    statement.vector.reset();
    statement.intersections.clear();
    IndexSet bound = 0;
    for (std::size_t loop = 0; loop < statement.loops.size(); ++loop) {
      const IndexId index = statement.loops[loop];
      if (loop >= statement.fused) {
        const LoopEstimate estimate = model.loop(bound, index, {number, last_sharer(schedule, number, loop)});
        if (!estimate.decision.parts.empty()) statement.intersections.push_back({index, estimate.decision.parts});
        if (estimate.decision.vector) statement.vector = index;
      }
      bound |= one_index(index);
    }
  }
}

// Work of the loops from `depth` inwards of the statements in a range that share the outer ones, per combination.
double work_below(const Schedule& schedule, const CostModel& model, StatementRange range, std::size_t depth) {
  double ns = 0;
  for (std::size_t first = range.first; first <= range.last;) {
    const std::vector<IndexId>& loops = schedule.statements[first].loops;
    const IndexSet bound = index_set({loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(std::min(depth, loops.size()))});
    std::size_t last = first;
    if (loops.size() > depth) {
      last = std::min(range.last, last_sharer(schedule, first, depth));
      const LoopEstimate estimate = model.loop(bound, loops[depth], {first, last});
      ns += estimate.ns + estimate.iterations * work_below(schedule, model, {first, last}, depth + 1);
    }
    if (last < range.last) ns += model.crossing(bound, {first, last}, range.last);
    first = last + 1;
  }
  return ns;
}

void decide_roots(Schedule& schedule, const CostModel& model) {
  schedule.roots.clear();
  for (std::size_t first = 0; first < schedule.statements.size();) {
    const std::size_t last = last_sharer(schedule, first, 0);
    const std::vector<IndexId>& loops = schedule.statements[first].loops;
    if (loops.empty()) {
      schedule.roots.push_back(RootReduction::serial);
    } else {
      const StatementRange range{first, last};
      const LoopEstimate estimate = model.loop(0, loops.front(), range);
      const double work = estimate.ns + estimate.iterations * work_below(schedule, model, range, 1);
      schedule.roots.push_back(model.root(loops.front(), range, estimate.iterations, work).reduction);
    }
    first = last + 1;
  }
}

}  // namespace

Schedule complete(Schedule schedule, const CostModel& model, const std::vector<bool>& free,
                  const std::vector<OperandFacts>& operands) {
  realize_layouts(schedule, model, free, operands);
  decide_loops(schedule, model);
  decide_roots(schedule, model);
  return merge_layouts(schedule);
}

}  // namespace weft
