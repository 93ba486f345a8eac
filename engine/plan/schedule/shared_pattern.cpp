#include "engine/plan/schedule/shared_pattern.h"

#include <algorithm>

#include "engine/plan/schedule/append_order.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/statements.h"

namespace weft {
namespace {

std::vector<IndexId> by_level(const std::vector<IndexId>& indices, const Format& format) {
  std::vector<IndexId> levels;
  for (const std::uint32_t mode : format.mode_order) levels.push_back(indices[mode]);
  return levels;
}

// A factor with the indices of the result, each once.
const TensorAccess* whole_factor(const Network& network, TensorId operand) {
  const Assignment& assignment = network.assignments.front();
  const IndexSet wanted = index_set(assignment.result.indices);
  for (const TensorAccess& factor : assignment.terms.front().factors) {
    const bool same = factor.tensor == operand && factor.indices.size() == assignment.result.indices.size() &&
                      index_set(factor.indices) == wanted;
    if (same) return &factor;
  }
  return nullptr;
}

}  // namespace

bool has_pattern_of(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands) {
  const TensorAccess* whole = whole_factor(network, operand);
  if (whole == nullptr) return false;
  for (const TensorAccess& factor : network.assignments.front().terms.front().factors) {
    if (factor == *whole) continue;
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    if (has_sparse_level(facts.format) || !facts.certain) return false;
    for (const IndexId index : factor.indices) {
      if (network.indices[index].extent == 0) return false;
    }
  }
  return true;
}

std::optional<Format> pattern_format(const Network& network, TensorId operand, const Format& layout) {
  const TensorAccess* whole = whole_factor(network, operand);
  if (whole == nullptr) return std::nullopt;
  const std::vector<IndexId>& result = network.assignments.front().result.indices;
  Format format = layout;
  format.mode_order.clear();
  for (const IndexId index : by_level(whole->indices, layout)) {
    format.mode_order.push_back(static_cast<std::uint32_t>(std::ranges::find(result, index) - result.begin()));
  }
  format.scalar = network.tensors[network.assignments.front().result.tensor].scalar;
  return format;
}

std::optional<TensorId> shared_pattern(const Network& network, const std::vector<OperandFacts>& operands) {
  for (const TensorAccess& factor : network.assignments.front().terms.front().factors) {
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    if (facts.computed || facts.copied) continue;
    if (!facts.format.all_dense() && has_pattern_of(network, factor.tensor, operands)) {
      return factor.tensor;
    }
  }
  return std::nullopt;
}

bool is_bound_beside(const Schedule& schedule, std::size_t writer, std::uint32_t operand) {
  const ScheduledStatement& writing = schedule.statements[writer];
  const ScheduledTensor& result = schedule.tensors[writing.target.tensor];
  const ScheduledTensor& shared = schedule.tensors[operand];
  if (shared.format.order() != result.format.order()) return false;
  const bool same_kinds = std::ranges::equal(shared.format.levels, result.format.levels, {}, &Level::kind, &Level::kind);
  if (!same_kinds) return false;
  for (std::size_t number = 0; number <= writer; ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    for (const ScheduledAccess& factor : statement.factors) {
      if (factor.tensor != operand) continue;
      if (by_level(factor.indices, shared.format) != by_level(writing.target.indices, result.format)) continue;
      const std::vector<BoundLevel> bound = bind_levels(factor.indices, shared.format, statement.loops);
      if (bound.empty() || bound.back().loop < shared_loops(schedule, number, writer)) return true;
    }
  }
  return false;
}

}  // namespace weft
