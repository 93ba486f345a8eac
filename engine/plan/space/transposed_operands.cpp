#include "engine/plan/space/transposed_operands.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/schedule/binding.h"

namespace weft {
namespace {

bool may_be_transposed(const OperandFacts& operand) {
  return !operand.pinned && !operand.computed && operand.format.order() > 1 && operand.format.all_dense() &&
         std::ranges::none_of(operand.format.levels, &Level::strided);
}

// The mode that should be last, by all accesses of the operand: the longest index that may become vector code. Nothing if the
// last mode of any access may, or another access wants another one.
std::optional<std::uint32_t> wanted_last(const OperandFacts& operand, const Network& network, IndexSet vectorizable) {
  std::optional<std::uint32_t> wanted;
  for (const TensorAccess& access : network.assignments.front().terms.front().factors) {
    if (access.tensor != operand.tensor) continue;
    std::optional<std::uint32_t> best;
    for (const std::uint32_t mode : operand.format.mode_order) {
      const IndexId index = access.indices[mode];
      const std::uint64_t extent = network.indices[index].extent;
      if (std::ranges::count(access.indices, index) > 1) return std::nullopt;
      if (!contains(vectorizable, index) || extent < 2) continue;
      if (mode == operand.format.mode_order.back()) return std::nullopt;
      if (!best || extent > network.indices[access.indices[*best]].extent) best = mode;
    }
    if (!best || (wanted && *wanted != *best)) return std::nullopt;
    wanted = best;
  }
  return wanted;
}

}  // namespace

std::vector<std::vector<OperandFacts>> transposed_operands(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const Assignment& assignment = network.assignments.front();
  IndexSet vectorizable = options.strict_fp ? index_set(assignment.result.indices) : ~IndexSet{0};
  for (const TensorAccess& access : assignment.terms.front().factors) {
    if (has_sparse_level(facts_of(operands, access.tensor).format)) vectorizable &= ~index_set(access.indices);
  }
  const auto pattern = options.result_patterns.find(network.tensors[assignment.result.tensor].name);
  std::vector<std::pair<std::size_t, std::uint32_t>> found;  // operands, and the modes that should be last
  for (std::size_t number = 0; number < operands.size(); ++number) {
    const OperandFacts& operand = operands[number];
    const bool like = pattern != options.result_patterns.end() && network.tensors[operand.tensor].name == pattern->second;
    if (like || !may_be_transposed(operand)) continue;
    if (const auto last = wanted_last(operand, network, vectorizable)) found.emplace_back(number, *last);
  }
  const auto transposed = [&](std::span<const std::pair<std::size_t, std::uint32_t>> chosen) {
    std::vector<OperandFacts> facts = operands;
    for (const auto& [number, last] : chosen) {
      std::vector<std::uint32_t>& order = facts[number].format.mode_order;
      std::erase(order, last);
      order.push_back(last);
    }
    return facts;
  };
  std::vector<std::vector<OperandFacts>> sets;
  if (found.size() > 1) sets.push_back(transposed(found));
  for (const auto& one : found) sets.push_back(transposed({&one, 1}));
  return sets;
}

Schedule with_transposed(Schedule schedule, const std::vector<OperandFacts>& operands) {
  for (ScheduledTensor& tensor : schedule.tensors) {
    if (tensor.role != TensorRole::operand || !tensor.format.all_dense()) continue;
    tensor.converted = tensor.format.mode_order != facts_of(operands, tensor.tensor).format.mode_order;
  }
  return schedule;
}

double transposing_ns(const std::vector<OperandFacts>& transposed, const std::vector<OperandFacts>& operands, const PlanOptions& options) {
  double ns = 0;
  for (std::size_t number = 0; number < operands.size(); ++number) {
    if (transposed[number].format.mode_order == operands[number].format.mode_order) continue;
    ns += conversion_ns(operands[number], options.machine) / std::max(1.0, options.calls);
  }
  return ns;
}

}  // namespace weft
