#include "engine/plan/space/fitting_trees.h"

#include <algorithm>

#include "engine/plan/space/least_workspace.h"
#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/space/sparse_intermediates.h"

namespace weft {

void keep_storing(std::vector<ContractionTree>& trees) {
  const auto stores = [](const ContractionTree& tree) {
    return std::count_if(tree.nodes.begin(), tree.nodes.end(), [](const auto& node) { return !node.children.empty(); }) > 1;
  };
  if (std::any_of(trees.begin(), trees.end(), stores)) std::erase_if(trees, [&](const auto& tree) { return !stores(tree); });
}

std::uint64_t leave_out_too_large(std::vector<ContractionTree>& trees, const Problem& problem,
                                  const ResultFormat& result) {
  const auto& [network, operands, options] = problem;
  if (options.memory_limit == PlanOptions{}.memory_limit) return 0;
  const double left = memory_beside(problem, result.format.all_dense() && !result.delivered);
  double largest = scalar_bytes(Scalar::f64);
  for (const Index& index : network.indices) largest *= std::max(1.0, static_cast<double>(index.extent));
  if (largest <= left) return 0;
  std::vector<ContractionTree> fitting;
  for (const ContractionTree& tree : trees) {
    Contractions contractions = contractions_of(network, tree, step_orders(tree, 1).front(), operands, result);
    const bool annihilates = annihilates_any(contractions, operands);
    const std::vector<Contractions> ways = with_sparse_intermediates(std::move(contractions), false, annihilates);
    const auto fits = [&](const Contractions& way) { return least_workspace_bytes(way, network) <= left; };
    if (std::ranges::any_of(ways, fits)) fitting.push_back(tree);
  }
  if (fitting.empty() || fitting.size() == trees.size()) return 0;
  const std::uint64_t left_out = trees.size() - fitting.size();
  trees = std::move(fitting);
  return left_out;
}

}  // namespace weft
