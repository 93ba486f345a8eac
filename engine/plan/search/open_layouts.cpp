#include "engine/plan/search/open_layouts.h"

#include <algorithm>
#include <limits>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/schedule/widths.h"
#include "engine/plan/search/complete.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"
#include "runtime/open_levels.h"

namespace weft {
namespace {

constexpr double most_positions_per_entry = 16;

/// The layouts that an operand can be opened to, one more level dense each.
std::vector<Format> openings(const OperandFacts& operand) {
  std::vector<Format> found;
  if (!may_be_converted(operand)) return found;
  Format format = operand.format;
  for (std::size_t level = 0; level + 1 < format.order(); ++level) {
    const LevelKind kind = format.levels[level].kind;
    if (kind != LevelKind::dense && kind != LevelKind::compressed) break;
    format.levels[level] = Level{};
    const double room = leading_positions(format, level + 1, operand.statistics);
    if (room > most_positions_per_entry * leading_entries(format, level + 1, operand.statistics)) break;
    if (opens_levels(operand.format, format)) found.push_back(format);
  }
  return found;
}

/// The layout with a mark for every coordinate of its last level, which is then looked up instead of searched.
std::optional<Format> marked(const OperandFacts& operand) {
  if (!may_be_converted(operand) || operand.format.levels.back().kind != LevelKind::compressed) return std::nullopt;
  Format format = operand.format;
  format.levels.back().kind = LevelKind::bitmap;
  return parse_format(format.text()) ? std::optional(format) : std::nullopt;
}

// Time of the loops that advance the levels that become dense, or marked: nothing else gets faster.
double advancing_ns(const Candidate& candidate, const Network& network, std::size_t number, const Format& format) {
  const Schedule& schedule = candidate.schedule;
  IndexSet indices = 0;
  for (const ScheduledStatement& statement : schedule.statements) {
    for (const ScheduledAccess& factor : statement.factors) {
      if (factor.tensor != number) continue;
      for (std::size_t level = 0; level < format.order(); ++level) {
        if (level < leading_dense_levels(format.levels) || has_gaps(format.levels[level].kind))
          indices |= one_index(factor.indices[format.mode_order[level]]);
      }
    }
  }
  double ns = 0;
  for (const LoopCost& loop : candidate.cost.loops) {
    const auto index = std::ranges::find(network.indices, loop.index, &Index::name) - network.indices.begin();
    if (contains(indices, static_cast<IndexId>(index))) ns += loop.ns;
  }
  return ns;
}

ScheduledTensor opened_to(ScheduledTensor tensor, const Format& format) {
  tensor.format = format;
  tensor.converted = true;
  tensor.opened = !has_gaps(format.levels.back().kind);
  return tensor;
}

/// Layouts of an operand in its own order in which entries are looked up.
std::vector<Format> looked_up(const OperandFacts& operand) {
  std::vector<Format> found = openings(operand);
  if (const auto format = marked(operand)) found.push_back(*format);
  return found;
}

}  // namespace

double least_opening_ns(const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  double least = std::numeric_limits<double>::infinity();
  for (const OperandFacts& operand : operands) {
    for (const Format& format : looked_up(operand)) {
      least = std::min(least, layout_ns(opened_to({}, format), operand, options.machine) / std::max(1.0, options.calls));
    }
  }
  return least;
}

Candidate with_open_layouts(Candidate candidate, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const std::uint64_t memory = usable_memory(options);
  for (std::size_t number = 0; number < candidate.schedule.tensors.size(); ++number) {
    const ScheduledTensor tensor = candidate.schedule.tensors[number];
    if (tensor.role != TensorRole::operand || tensor.opened) continue;
    const OperandFacts& operand = facts_of(operands, tensor.tensor);
    // One that was converted to have dense levels, in its own order, may do with fewer of them.
    if (tensor.converted && tensor.format.mode_order != operand.format.mode_order) continue;
    const bool lends = std::ranges::any_of(candidate.schedule.tensors, [&](const ScheduledTensor& other) { return other.like == number; });
    for (const Format& format : lends ? openings(operand) : looked_up(operand)) {
      ScheduledTensor made = opened_to(tensor, format);
      const double takes = layout_ns(made, operand, options.machine) / std::max(1.0, options.calls);
      if (!tensor.converted && takes >= advancing_ns(candidate, network, number, format)) continue;
      Schedule opened = candidate.schedule;
      opened.tensors[number] = std::move(made);
      const CostModel model(contractions_of(opened), problem);
      opened = with_widths(with_decided_loops(std::move(opened), model), network, operands);
      Cost cost = time_cost(opened, problem, model);
      if (cost.ns >= candidate.cost.ns || !check(opened, problem)) continue;
      cost = with_memory(std::move(cost), opened, problem);
      if (cost.announced_bytes > memory && cost.announced_bytes > candidate.cost.announced_bytes) continue;
      candidate = {std::move(opened), std::move(cost)};
    }
  }
  return candidate;
}

}  // namespace weft
