#include "engine/plan/space/shared_layouts.h"

#include <algorithm>

#include "engine/plan/cost/access_model.h"
#include "engine/plan/cost/cost_model.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/result_format.h"

namespace weft {
namespace {

constexpr std::size_t most_shared_modes = 3;

void add(std::vector<Format>& formats, const Format& format) {
  if (std::ranges::none_of(formats, [&](const Format& other) { return same_layout(other, format); })) formats.push_back(format);
}

const TensorAccess* access_of(const Network& network, TensorId operand) {
  for (const Assignment& assignment : network.assignments) {
    for (const TensorAccess& factor : assignment.terms.front().factors) {
      if (factor.tensor == operand && members(index_set(factor.indices)).size() == factor.indices.size()) return &factor;
    }
  }
  return nullptr;
}

}  // namespace

SharedLayouts operand_layouts(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands) {
  const OperandFacts& facts = facts_of(operands, operand);
  const TensorAccess* access = access_of(network, operand);
  // On diagonals modes are bound together.
  if (access == nullptr || facts.format.order() > most_shared_modes) return {{}, false};
  SharedLayouts found;
  const ScheduledAccess read{0, access->indices};
  const ContractedTensor tensor{{{}, TensorRole::operand, operand}, Storage::stored, facts.format.scalar, facts.format};
  for (const double fill_limit : dense_fill_limits) {
    const AccessModel model(read, tensor, AccessPath::of_loops(fill_limit), network, operands);
    std::vector<std::uint32_t> order = dense_format(facts.format.order()).mode_order;
    do {
      std::vector<IndexId> loops;
      for (const std::uint32_t mode : order) loops.push_back(access->indices[mode]);
      const Format format = model.realized(loops, 0);
      if (!same_layout(format, facts.format)) add(found.formats, format);
    } while (std::ranges::next_permutation(order).found);
  }
  return found;
}

SharedLayouts result_layouts(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const TensorAccess& result = network.assignments.front().result;
  const ResultFormat plain = plainest_result_format(problem);
  if (plain.like || plain.delivered || result.indices.size() < 2) return {};
  if (result.indices.size() > most_shared_modes) return {{}, false};
  SharedLayouts found;
  std::vector<std::uint32_t> order = dense_format(result.indices.size()).mode_order;
  if (plain.format.all_dense()) {
    while (std::ranges::next_permutation(order).found) {
      found.formats.push_back(plain.format);
      found.formats.back().mode_order = order;
    }
    return found;
  }
  const ProductEstimate product = result_estimate(problem);
  const IndexSet block = index_set(result.indices) & ~product.restricted();
  do {
    add(found.formats, sparse_result_format(product, result.indices, order, block, plain.format.scalar));
  } while (std::ranges::next_permutation(order).found);
  return found;
}

}  // namespace weft
