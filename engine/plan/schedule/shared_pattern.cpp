#include "engine/plan/schedule/shared_pattern.h"

#include <algorithm>

#include "engine/plan/schedule/append_order.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/statements.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

// The layout of a result whose first levels are the first `shared` ones of a layout, over these indices, above a dense block.
Format format_at(const Format& layout, std::size_t shared, const std::vector<IndexId>& indices, const std::vector<IndexId>& result,
                 Scalar scalar) {
  Format format{scalar, {}, {layout.levels.begin(), layout.levels.begin() + static_cast<std::ptrdiff_t>(shared)}};
  IndexSet added = 0;
  for (std::size_t level = 0; level < shared; ++level) {
    format.mode_order.push_back(static_cast<std::uint32_t>(std::ranges::find(result, indices[level]) - result.begin()));
    added |= one_index(indices[level]);
  }
  for (std::uint32_t mode = 0; mode < result.size(); ++mode)
    if (!contains(added, result[mode])) format.mode_order.push_back(mode);
  format.levels.resize(format.mode_order.size());
  return format;
}

// A factor with the indices of the result, each once; none that is located through its layout.
const TensorAccess* whole_factor(const Network& network, TensorId operand) {
  if (!network.tensors[operand].parts.empty()) return nullptr;
  const Assignment& assignment = network.assignments.front();
  const IndexSet wanted = index_set(assignment.result.indices);
  for (const TensorAccess& factor : assignment.terms.front().factors) {
    const bool same = factor.tensor == operand && factor.indices.size() == assignment.result.indices.size() &&
                      index_set(factor.indices) == wanted;
    if (same) return &factor;
  }
  return nullptr;
}

// Whether all factors but this one are dense and certain, with a place for every coordinate, and no sum over their indices is empty.
bool is_alone_sparse(const Network& network, const TensorAccess& sparse, const std::vector<OperandFacts>& operands) {
  for (const TensorAccess& factor : network.assignments.front().terms.front().factors) {
    if (factor == sparse) continue;
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    if (has_sparse_level(facts.format) || !facts.certain || network.tensors[factor.tensor].has_sums()) return false;
    for (const IndexId index : factor.indices) {
      if (network.indices[index].extent == 0) return false;
    }
  }
  return true;
}

}  // namespace

bool has_pattern_of(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands) {
  const TensorAccess* whole = whole_factor(network, operand);
  return whole != nullptr && is_alone_sparse(network, *whole, operands);
}

std::optional<Format> pattern_format(const Network& network, TensorId operand, const Format& layout) {
  const TensorAccess* whole = whole_factor(network, operand);
  if (whole == nullptr) return std::nullopt;
  const Assignment& assignment = network.assignments.front();
  return format_at(layout, layout.order(), by_level(whole->indices, layout), assignment.result.indices,
                   network.tensors[assignment.result.tensor].scalar);
}

std::optional<Format> leading_format(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands) {
  const Assignment& assignment = network.assignments.front();
  const TensorDeclaration& result = network.tensors[assignment.result.tensor];
  const std::vector<TensorAccess>& factors = assignment.terms.front().factors;
  const auto factor = std::ranges::find(factors, operand, &TensorAccess::tensor);
  if (factor == factors.end() || std::ranges::count(factors, operand, &TensorAccess::tensor) != 1) return std::nullopt;
  if (!network.tensors[operand].parts.empty() || !result.parts.empty()) return std::nullopt;
  const Format& layout = facts_of(operands, operand).format;
  const std::vector<IndexId> indices = by_level(factor->indices, layout);
  const std::vector<IndexId>& wanted = assignment.result.indices;
  if (members(index_set(indices)).size() != indices.size() || members(index_set(wanted)).size() != wanted.size()) return std::nullopt;
  std::size_t shared = 0;
  while (shared < indices.size() && contains(index_set(wanted), indices[shared])) ++shared;
  const std::vector<Level> leading(layout.levels.begin(), layout.levels.begin() + static_cast<std::ptrdiff_t>(shared));
  shared = appended_levels(leading);
  if (shared == 0 || !is_compressed(layout.levels[shared - 1].kind)) return std::nullopt;
  if (shared == indices.size() && shared == wanted.size()) return std::nullopt;
  for (std::size_t level = 0; level < indices.size(); ++level) {
    const LevelKind kind = layout.levels[level].kind;
    if (network.indices[indices[level]].extent == 0 || (!is_dense(kind) && !is_compressed(kind)) || layout.levels[level].strided)
      return std::nullopt;
    if (level >= shared && !is_dense(kind) && contains(index_set(wanted), indices[level])) return std::nullopt;
  }
  if (!is_alone_sparse(network, *factor, operands)) return std::nullopt;
  return format_at(layout, shared, indices, wanted, result.scalar);
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

bool keeps_order(const Format& one, const Format& other) {
  const auto has_entries_alone = [](const Format& format) {
    const std::size_t dense = leading_dense_levels(format.levels);
    if (format.layout != nullptr || dense == format.order()) return false;
    for (std::size_t level = dense; level < format.order(); ++level) {
      const LevelKind kind = format.levels[level].kind;
      const bool goes_on = level > dense && !has_one_entry(format.levels[level - 1].kind, kind);
      if (!is_compressed(kind) && !begins_chain(kind) && !(is_per_parent(kind) && goes_on)) return false;
    }
    return true;
  };
  return one.mode_order == other.mode_order && has_entries_alone(one) && has_entries_alone(other);
}

bool share_levels(const std::vector<IndexId>& operand, const Format& layout, const std::vector<IndexId>& result, const Format& format) {
  const std::size_t levels = appended_levels(format.levels);
  if (levels == 0 || levels > layout.order()) return false;
  for (std::size_t level = 0; level < levels; ++level) {
    if (layout.levels[level].kind != format.levels[level].kind) return false;
    if (operand[layout.mode_order[level]] != result[format.mode_order[level]]) return false;
  }
  return true;
}

bool is_bound_beside(const Schedule& schedule, std::size_t writer, std::uint32_t operand) {
  const ScheduledStatement& writing = schedule.statements[writer];
  const ScheduledTensor& result = schedule.tensors[writing.target.tensor];
  const ScheduledTensor& shared = schedule.tensors[operand];
  const std::size_t levels = appended_levels(result.format.levels);
  for (std::size_t number = 0; number <= writer; ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    for (const ScheduledAccess& factor : statement.factors) {
      if (factor.tensor != operand || !share_levels(factor.indices, shared.format, writing.target.indices, result.format)) continue;
      const std::vector<BoundLevel> bound = bind_levels(factor.indices, shared.format, statement.loops);
      const std::size_t last = bound[levels - 1].loop;
      const bool goes_on = levels < bound.size() && bound[levels].loop == last;
      if (!goes_on && last < shared_loops(schedule, number, writer)) return true;
    }
  }
  return false;
}

}  // namespace weft
