#include "engine/plan/space/transposable.h"

#include <algorithm>
#include <optional>

#include "engine/plan/cost/access_path.h"
#include "engine/plan/index_set.h"
#include "engine/plan/schedule/binding.h"

namespace weft {
namespace {

constexpr std::size_t most_transposable = 63;

bool may_be_transposed(const OperandFacts& operand) {
  return !operand.pinned && !operand.computed && operand.format.order() > 1 && operand.format.order() <= most_convertible_modes &&
         operand.format.all_dense() && std::ranges::none_of(operand.format.levels, &Level::strided);
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

std::vector<Transposable> transposable_operands(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const Assignment& assignment = network.assignments.front();
  IndexSet vectorizable = options.strict_fp ? index_set(assignment.result.indices) : ~IndexSet{0};
  for (const TensorAccess& access : assignment.terms.front().factors) {
    if (has_sparse_level(facts_of(operands, access.tensor).format)) vectorizable &= ~index_set(access.indices);
  }
  const auto pattern = options.result_patterns.find(network.tensors[assignment.result.tensor].name);
  std::vector<Transposable> found;
  for (const OperandFacts& operand : operands) {
    const bool like = pattern != options.result_patterns.end() && network.tensors[operand.tensor].name == pattern->second;
    if (like || !may_be_transposed(operand) || found.size() == most_transposable) continue;
    if (const auto last = wanted_last(operand, network, vectorizable)) found.push_back({operand.tensor, *last});
  }
  return found;
}

}  // namespace weft
