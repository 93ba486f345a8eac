#include "engine/plan/space/least_workspace.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/space/contraction_variants.h"

namespace weft {
namespace {

constexpr std::size_t most_orders_tried = 5000;

// The largest intermediate of the best parenthesisation of the statements between two places; min of max, so groups
// decide for themselves. `size(producer, loops)` of what a producer stores inside shared loops.
template <typename Size>
double least_of_largest(const OperationTree& tree, const std::vector<std::uint32_t>& order, Size size) {
  const std::size_t count = order.size();
  std::vector<std::size_t> place_of(count);
  for (std::size_t place = 0; place < count; ++place) place_of[order[place]] = place;
  std::vector<std::vector<double>> best(count, std::vector<double>(count, 0));
  for (std::size_t length = 2; length <= count; ++length) {
    for (std::size_t first = 0; first + length <= count; ++first) {
      const std::size_t last = first + length - 1;
      const IndexSet shared = common_indices(tree, order, first, last);
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t split = first; split < last; ++split) {
        double largest = std::max(best[first][split], best[split + 1][last]);
        for (std::size_t place = first; place <= split; ++place) {
          const std::uint32_t reader = tree.operations[order[place]].reader;
          if (reader == count || place_of[reader] <= split || place_of[reader] > last) continue;
          largest = std::max(largest, size(order[place], shared));
        }
        least = std::min(least, largest);
      }
      best[first][last] = least;
    }
  }
  return count == 0 ? 0 : best[0][count - 1];
}

// Every order in which producers come before readers, until there are too many.
void append_orders(const OperationTree& tree, std::vector<std::uint32_t>& order, std::vector<bool>& done,
                   std::vector<std::vector<std::uint32_t>>& orders) {
  if (orders.size() > most_orders_tried) return;
  if (order.size() == tree.operations.size()) orders.push_back(order);
  for (std::uint32_t number = 0; number < tree.operations.size(); ++number) {
    const auto waits_for = [&](const OperationTree::Operation& other) {
      return other.reader == number && !done[static_cast<std::size_t>(&other - tree.operations.data())];
    };
    if (done[number] || std::ranges::any_of(tree.operations, waits_for)) continue;
    done[number] = true;
    order.push_back(number);
    append_orders(tree, order, done, orders);
    order.pop_back();
    done[number] = false;
  }
}

// Over every order of the statements; 0 where there are too many.
template <typename Size>
double least_over_orders(const OperationTree& tree, Size size) {
  std::vector<std::vector<std::uint32_t>> orders;
  std::vector<std::uint32_t> order;
  std::vector<bool> done(tree.operations.size(), false);
  append_orders(tree, order, done, orders);
  if (orders.size() > most_orders_tried) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<std::uint32_t>& one : orders) least = std::min(least, least_of_largest(tree, one, size));
  return least;
}

}  // namespace

IndexSet common_indices(const OperationTree& tree, const std::vector<std::uint32_t>& order, std::size_t first, std::size_t last) {
  IndexSet set = ~IndexSet{0};
  for (std::size_t place = first; place <= last; ++place) set &= tree.operations[order[place]].indices;
  return set;
}

OperationTree operation_tree(Steps steps) {
  OperationTree tree;
  for (std::size_t number = 0; number < steps.size(); ++number) {
    const ScheduledAccess& target = steps[number].target;
    tree.operations.push_back(
        {indices_of(steps[number]), index_set(target.indices), static_cast<std::uint32_t>(reader_of(steps, target.tensor))});
  }
  return tree;
}

std::uint32_t least_workspace_order(const OperationTree& tree) {
  return static_cast<std::uint32_t>(least_over_orders(tree, [&](std::uint32_t producer, IndexSet shared) {
    return static_cast<double>(std::popcount(tree.operations[producer].modes & ~shared));
  }));
}

double least_workspace_bytes(const Contractions& contractions, const Network& network) {
  const OperationTree tree = operation_tree(contractions);
  return least_over_orders(tree, [&](std::uint32_t producer, IndexSet shared) {
    const ContractedTensor& tensor = contractions.tensors[contractions.steps[producer].target.tensor];
    return tensor.dense() ? dense_bytes(tree.operations[producer].modes & ~shared, tensor.scalar, network) : 0.0;
  });
}

void keep_storing(std::vector<ContractionTree>& trees) {
  const auto stores = [](const ContractionTree& tree) {
    return std::ranges::count_if(tree.nodes, [](const auto& node) { return !node.children.empty(); }) > 1;
  };
  if (std::ranges::any_of(trees, stores)) std::erase_if(trees, [&](const auto& tree) { return !stores(tree); });
}

std::uint64_t leave_out_too_large(std::vector<ContractionTree>& trees, const Problem& problem,
                                  const ResultFormat& result) {
  const auto& [network, operands, options] = problem;
  if (options.memory_limit == PlanOptions{}.memory_limit) return 0;
  const double left = memory_beside(problem, result.format.all_dense());
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
