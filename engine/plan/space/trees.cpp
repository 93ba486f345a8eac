#include "engine/plan/space/trees.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "engine/plan/cost/memory_demand.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/contractions.h"
#include "engine/plan/space/contraction_variants.h"

namespace weft {
namespace {

using LeafSet = std::uint32_t;  // units of the root node: factors or parenthesised groups

constexpr std::size_t most_enumerated = 6;
constexpr std::size_t most_kept = 5;
constexpr std::size_t most_splits = 500'000;
constexpr std::size_t most_built = 600;  // of 2752 for six factors: the planner's budget ends long before, but that for a proof

// A tree under construction: children are sets of leaves, which name subtrees uniquely.
using Shape = std::vector<std::vector<LeafSet>>;  // inner nodes, children before parents

// All ways to cut a set into two or more blocks; the block with the smallest leaf first.
void append_partitions(LeafSet rest, std::vector<LeafSet>& blocks, std::vector<std::vector<LeafSet>>& partitions) {
  if (rest == 0) {
    if (blocks.size() > 1) partitions.push_back(blocks);
    return;
  }
  const LeafSet first = rest & (~rest + 1);
  const LeafSet others = rest & ~first;
  for (LeafSet with = others;; with = (with - 1) & others) {
    blocks.push_back(first | with);
    append_partitions(others & ~with, blocks, partitions);
    blocks.pop_back();
    if (with == 0) break;
  }
}

const std::vector<Shape>& shapes_of(LeafSet leaves, std::map<LeafSet, std::vector<Shape>>& known) {
  if (const auto found = known.find(leaves); found != known.end()) return found->second;
  std::vector<Shape> shapes;
  if (std::has_single_bit(leaves)) {
    shapes.push_back({});
  } else {
    std::vector<LeafSet> blocks;
    std::vector<std::vector<LeafSet>> partitions;
    append_partitions(leaves, blocks, partitions);
    for (const std::vector<LeafSet>& partition : partitions) {
      std::vector<Shape> partial{{}};
      for (const LeafSet block : partition) partial = concatenated(partial, shapes_of(block, known));
      for (Shape& shape : partial) {
        shape.push_back(partition);
        shapes.push_back(std::move(shape));
      }
    }
  }
  return known.emplace(leaves, std::move(shapes)).first->second;
}

std::vector<Shape> all_shapes(std::size_t units) {
  std::map<LeafSet, std::vector<Shape>> known;
  return shapes_of((LeafSet{1} << units) - 1, known);
}

// Of few units, which most plans have, they are made once.
const std::vector<Shape>& shapes_of_few(std::size_t units) {
  static const std::array<std::vector<Shape>, most_kept + 1> kept = [] {
    std::array<std::vector<Shape>, most_kept + 1> made;
    for (std::size_t count = 1; count <= most_kept; ++count) made[count] = all_shapes(count);
    return made;
  }();
  return kept[units];
}

// The units that the planner may combine: children of an open root, or nothing to combine at all.
struct Units {
  const ContractionTree* pinned = nullptr;
  std::vector<std::uint32_t> nodes;  // of the pinned tree, one per unit
};

ContractionTree build(const Shape& shape, LeafSet all, const Units& units) {
  ContractionTree tree;
  tree.nodes.reserve(units.pinned->nodes.size() + shape.size());
  std::vector<std::pair<LeafSet, std::uint32_t>> node_of;
  node_of.reserve(shape.size());
  const auto place = [&](LeafSet set) {
    for (const auto& [known, node] : node_of) {
      if (known == set) return node;
    }
    return append_subtree(*units.pinned, units.nodes[static_cast<std::size_t>(std::countr_zero(set))], tree);
  };
  for (const std::vector<LeafSet>& children : shape) {
    ContractionTree::Node node;
    node.children.reserve(children.size());
    for (const LeafSet child : children) node.children.push_back(place(child));
    tree.nodes.push_back(std::move(node));
    LeafSet set = 0;
    for (const LeafSet child : children) set |= child;
    node_of.emplace_back(set, static_cast<std::uint32_t>(tree.nodes.size() - 1));
  }
  if (shape.empty()) place(all);
  return tree;
}

// Estimated work of contracting sets of units, from what filters each unit.
class WorkEstimate {
 public:
  WorkEstimate(const Network& network, const std::vector<OperandFacts>& operands, const Machine& machine,
               const Units& units)
      : machine_(machine), result_(index_set(network.assignments[0].result.indices)) {
    for (const Index& index : network.indices) log_extents_.push_back(std::log(std::max(1.0, static_cast<double>(index.extent))));
    const Term& term = network.assignments[0].terms[0];
    for (const std::uint32_t node : units.nodes) {
      Unit unit;
      unit.leaf = units.pinned->nodes[node].children.empty();
      std::vector<std::uint32_t> open{node};
      while (!open.empty()) {
        const ContractionTree::Node& current = units.pinned->nodes[open.back()];
        open.pop_back();
        open.insert(open.end(), current.children.begin(), current.children.end());
        if (!current.children.empty()) continue;
        const TensorAccess& factor = term.factors[current.factor];
        unit.indices |= index_set(factor.indices);
        const OperandFacts& facts = facts_of(operands, factor.tensor);
        if (has_sparse_level(facts.format)) unit.filters.push_back(filter_of(factor, facts));
      }
      units_.push_back(std::move(unit));
    }
  }

  std::size_t units() const { return units_.size(); }

  /// Indices that the product of a set of units has: those of the result or of a unit outside.
  IndexSet modes(LeafSet set) const {
    IndexSet inside = 0;
    IndexSet outside = result_;
    for (std::size_t unit = 0; unit < units_.size(); ++unit) (set >> unit & 1 ? inside : outside) |= units_[unit].indices;
    const bool leaf = (set & (set - 1)) == 0 && units_[static_cast<std::size_t>(std::countr_zero(set))].leaf;
    return leaf ? inside : inside & outside;
  }

  /// Iterations of the statement that contracts these sets and reset of its result, in nanoseconds.
  double statement_ns(const std::vector<LeafSet>& children) const {
    IndexSet indices = 0;
    LeafSet all = 0;
    for (const LeafSet child : children) {
      indices |= modes(child);
      all |= child;
    }
    const double iterations = std::exp(std::min(700.0, log_iterations(indices, all)));
    return iterations * (machine_.scalar_body + machine_.scalar_factor * static_cast<double>(children.size()));
  }

  double tree_ns(const Shape& shape) const {
    double ns = 0;
    for (const std::vector<LeafSet>& children : shape) ns += statement_ns(children);
    return ns;
  }

  bool connected(LeafSet left, LeafSet right) const { return (modes(left) & modes(right)) != 0; }

 private:
  struct Filter {
    std::vector<IndexId> levels;       // in stored order
    std::vector<double> log_density;   // after each level
  };
  struct Unit {
    IndexSet indices = 0;
    std::vector<Filter> filters;
    bool leaf = false;  // a group has summed all indices that only it has
  };

  Filter filter_of(const TensorAccess& factor, const OperandFacts& facts) const {
    Filter filter;
    ModeSet modes = 0;
    double log_room = 0;
    for (const std::uint32_t mode : facts.format.mode_order) {
      modes |= ModeSet{1} << mode;
      log_room += log_extents_[factor.indices[mode]];
      filter.levels.push_back(factor.indices[mode]);
      filter.log_density.push_back(std::min(0.0, std::log(std::max(1.0, facts.statistics.distinct(modes))) - log_room));
    }
    return filter;
  }

  double log_iterations(IndexSet indices, LeafSet all) const {
    double sum = 0;
    for (const IndexId index : members(indices)) sum += log_extents_[index];
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      if ((all >> unit & 1) == 0) continue;
      for (const Filter& filter : units_[unit].filters) {
        std::size_t level = 0;
        while (level < filter.levels.size() && contains(indices, filter.levels[level])) ++level;
        if (level > 0) sum += filter.log_density[level - 1];
      }
    }
    return sum;
  }

  Machine machine_;
  IndexSet result_ = 0;
  std::vector<double> log_extents_;
  std::vector<Unit> units_;
};

// The best binary tree over every connected set of units; nothing if there are too many splits.
std::vector<Shape> best_by_subsets(const WorkEstimate& estimate) {
  const LeafSet all = (LeafSet{1} << estimate.units()) - 1;
  std::vector<double> best(std::size_t{all} + 1, std::numeric_limits<double>::infinity());
  std::vector<LeafSet> left_of(std::size_t{all} + 1, 0);
  std::size_t splits = 0;
  for (LeafSet set = 1; set <= all; ++set) {
    if (std::has_single_bit(set)) {
      best[set] = 0;
      continue;
    }
    const LeafSet first = set & (~set + 1);
    const LeafSet others = set & ~first;
    for (LeafSet with = (others - 1) & others;; with = (with - 1) & others) {
      const LeafSet left = first | with;
      const LeafSet right = set & ~left;
      if (std::isfinite(best[left]) && std::isfinite(best[right]) && (estimate.connected(left, right) || set == all)) {
        if (++splits > most_splits) return {};
        const double ns = best[left] + best[right] + estimate.statement_ns({left, right});
        if (ns < best[set]) {
          best[set] = ns;
          left_of[set] = left;
        }
      }
      if (with == 0) break;
    }
  }
  if (!std::isfinite(best[all])) return {};
  Shape shape;
  std::vector<LeafSet> open{all};
  while (!open.empty()) {
    const LeafSet set = open.back();
    open.pop_back();
    if (std::has_single_bit(set)) continue;
    shape.push_back({left_of[set], set & ~left_of[set]});
    open.push_back(left_of[set]);
    open.push_back(set & ~left_of[set]);
  }
  std::reverse(shape.begin(), shape.end());
  return {shape};
}

Shape greedy(const WorkEstimate& estimate) {
  std::vector<LeafSet> open;
  for (std::size_t unit = 0; unit < estimate.units(); ++unit) open.push_back(LeafSet{1} << unit);
  Shape shape;
  while (open.size() > 1) {
    double cheapest = std::numeric_limits<double>::infinity();
    std::size_t best_left = 0;
    std::size_t best_right = 1;
    for (std::size_t left = 0; left < open.size(); ++left) {
      for (std::size_t right = left + 1; right < open.size(); ++right) {
        const double ns = estimate.statement_ns({open[left], open[right]});
        if (ns >= cheapest) continue;
        cheapest = ns;
        best_left = left;
        best_right = right;
      }
    }
    shape.push_back({open[best_left], open[best_right]});
    open[best_left] |= open[best_right];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(best_right));
  }
  return shape;
}

}  // namespace

std::vector<ContractionTree> all_trees(std::size_t leaves) {
  const ContractionTree flat = flat_tree(leaves);
  Units units{&flat, {}};
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) units.nodes.push_back(leaf);
  std::vector<ContractionTree> trees;
  const LeafSet all = (LeafSet{1} << leaves) - 1;
  for (const Shape& shape : all_shapes(leaves)) trees.push_back(build(shape, all, units));
  return trees;
}

TreeChoice choose_trees(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const Term& term = network.assignments[0].terms[0];
  if (options.tree) return {{*options.tree}, true};
  if (!term.open || term.factors.size() == 1) return {{term.pinned}, true};
  const Units units{&term.pinned, term.pinned.nodes.back().children};
  const WorkEstimate estimate(network, operands, options.machine, units);
  const LeafSet all = (LeafSet{1} << units.nodes.size()) - 1;
  const bool enumerated = units.nodes.size() <= most_enumerated;
  std::vector<Shape> made;
  if (!enumerated) {
    made = best_by_subsets(estimate);
    made.push_back(greedy(estimate));
    std::vector<LeafSet> flat;
    for (std::size_t unit = 0; unit < units.nodes.size(); ++unit) flat.push_back(LeafSet{1} << unit);
    made.push_back({flat});
  } else if (units.nodes.size() > most_kept) {
    made = all_shapes(units.nodes.size());
  }
  const std::vector<Shape>& shapes = made.empty() ? shapes_of_few(units.nodes.size()) : made;
  std::vector<std::pair<double, std::size_t>> ranked;
  ranked.reserve(shapes.size());
  for (std::size_t number = 0; number < shapes.size(); ++number) ranked.emplace_back(estimate.tree_ns(shapes[number]), number);
  std::sort(ranked.begin(), ranked.end());
  TreeChoice choice;
  const std::size_t most = options.prove ? ranked.size() : most_built;
  choice.complete = enumerated && ranked.size() <= most;
  if (ranked.size() > most) ranked.resize(most);
  choice.trees.reserve(ranked.size());
  for (const auto& [ns, number] : ranked) choice.trees.push_back(build(shapes[number], all, units));
  return choice;
}

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
