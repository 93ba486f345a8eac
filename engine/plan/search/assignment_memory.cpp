#include "engine/plan/search/assignment_memory.h"

#include <algorithm>

#include "engine/plan/estimate/product_estimate.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/result_format.h"

namespace weft {
namespace {

// As requested, or by what its operands alone let through.
bool is_sparse(const Network& network, const Assignment& assignment, const std::vector<OperandFacts>& operands,
               const PlanOptions& options) {
  const std::string& name = network.tensors[assignment.result.tensor].name;
  if (const auto asked = options.result_formats.find(name); asked != options.result_formats.end()) {
    return !asked->second.all_dense();
  }
  if (options.result_patterns.contains(name)) return true;
  std::vector<TensorAccess> known;
  for (const TensorAccess& factor : assignment.terms.front().factors) {
    if (std::ranges::find(operands, factor.tensor, &OperandFacts::tensor) != operands.end()) known.push_back(factor);
  }
  const ProductEstimate estimate(network, operands, known);
  const IndexSet restricted = estimate.restricted() & index_set(assignment.result.indices);
  return restricted != 0 && estimate.fill(restricted) < sparse_fill;
}

}  // namespace

std::uint64_t assignment_memory(const Network& network, std::size_t assignment, const std::vector<OperandFacts>& operands,
                              const PlanOptions& options) {
  if (options.memory_limit == ~std::uint64_t{0}) return options.memory_limit;
  double left = static_cast<double>(options.memory_limit);
  for (std::size_t later = assignment + 1; later < network.assignments.size(); ++later) {
    const TensorDeclaration& declared = network.tensors[network.assignments[later].result.tensor];
    // A result that is not asked for is there from its own nests on, not from the beginning.
    if (!is_wanted(declared.name, network, options) || is_sparse(network, network.assignments[later], operands, options)) continue;
    double bytes = scalar_bytes(declared.scalar);
    for (const std::uint64_t extent : declared.extents) bytes *= static_cast<double>(extent);
    left -= bytes;
  }
  return static_cast<std::uint64_t>(std::max(0.0, left));
}

}  // namespace weft
