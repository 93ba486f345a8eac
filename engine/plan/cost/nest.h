// The recursion of a nest, for all that sum it up, choose it or expand it.
//
// A state says that statements first … last share the loops outside and nothing below them yet. One step further, the body of
// `first` runs there, or a loop over x is opened that first … end share:
//
//   time(state) = loop(x) + iterations(x) * time(inside) + materialising(first … end) + time(behind)
//
//   inside: first … end, below x          behind: end + 1 … last, below the same loops as before
//
// A[i,r] += T[i,j,k] * x[j,r] of one statement: i, then j inside of it, then k, then r, then the body. each_step() tells the steps
// that are legal from a state (the interval program takes the cheapest, the graph for the solver all below a bound), and
// walk_nest() goes along those that a schedule took (the judge, and completion).
#pragma once

#include <cstdint>

#include "engine/plan/cost/cost_model.h"

namespace weft {

struct NestState {
  Outside outside;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  JoinSet others = 0;  ///< what filters the loops outside on behalf of statements that share those, but are not among these

  /// Of the first statement.
  bool complete(const CostModel& model) const { return (model.indices(first) & ~outside.indices) == 0; }
};

/// Below a loop that the first statements of a state share; behind those.
inline NestState inside(const CostModel& model, const NestState& state, IndexId index, StatementRange group) {
  NestState found{model.inside(state.outside, index, group), state.first, static_cast<std::uint32_t>(group.last), 0};
  if (state.outside.root() || !model.joined()) return found;
  const bool more = group.last < state.last;
  const JoinSet others = more ? state.others | model.filters(state.outside.indices, {group.last + 1, state.last}) : state.others;
  found.others = model.joined_with(others, group);
  return found;
}
inline NestState behind(const CostModel& model, const NestState& state, StatementRange group) {
  NestState found{state.outside, static_cast<std::uint32_t>(group.last) + 1, state.last, 0};
  if (state.outside.root() || group.last == state.last || !model.joined()) return found;
  found.others = model.joined_with(state.others | model.filters(state.outside.indices, group), {group.last + 1, state.last});
  return found;
}

/// Calls with every index of `candidates` and every group of statements that may share a loop over it next: none below which
/// meaning depends on an order of loops still to come, or memory does not suffice. Without `fused` every statement is alone.
/// A complete state has no such step, only a body.
template <typename Visit>
void each_step(const CostModel& model, const NestState& state, IndexSet candidates, bool fused, Visit visit) {
  const IndexSet bound = state.outside.indices;
  for (const IndexId index : members(candidates)) {
    const std::uint32_t furthest = fused ? state.last : state.first;
    for (std::uint32_t end = state.first; end <= furthest && contains(model.indices(end) & ~bound, index); ++end) {
      const StatementRange group{state.first, end};
      if (state.outside.root() && (!model.may_share_nest(group) || model.stores_copy(group))) continue;
      if (model.keeps_order(bound, index, group)) visit(index, group);
    }
  }
}

/// Statements `range` of a schedule below the `depth` loops that they share, entered so many times over the run.
/// `loop(outside, index, range, depth, entered)` prices one loop as LoopPrice, workspaces around it included.
template <typename Loop>
double walk_nest(const Schedule& schedule, const CostModel& model, StatementRange range, std::size_t depth, double entered, Loop&& loop);

/// The same of one loop with all that stands inside it: its iterations, and the time of all.
template <typename Loop>
LoopPrice walk_loop(const Schedule& schedule, const CostModel& model, StatementRange range, std::size_t depth, double entered,
                    Loop&& loop) {
  const std::vector<IndexId>& loops = schedule.statements[range.first].loops;
  const LoopPrice price = loop(model.bound_by(schedule, range.first, depth), loops[depth], range, depth, entered);
  const double below = walk_nest(schedule, model, range, depth + 1, entered * price.iterations, loop);
  return {price.iterations, price.ns + price.iterations * below};
}

template <typename Loop>
double walk_nest(const Schedule& schedule, const CostModel& model, StatementRange range, std::size_t depth, double entered, Loop&& loop) {
  double ns = 0;
  for (std::size_t first = range.first; first <= range.last;) {
    std::size_t last = first;
    if (schedule.statements[first].loops.size() > depth) {
      last = std::min(range.last, last_sharer(schedule, first, depth));
      ns += walk_loop(schedule, model, {first, last}, depth, entered, loop).ns;
    }
    if (last < range.last) {
      const Outside outside = model.bound_by(schedule, first, depth);
      ns += model.materialising_ns(outside.indices, {first, last}, range.last);
    }
    first = last + 1;
  }
  return ns;
}

}  // namespace weft
