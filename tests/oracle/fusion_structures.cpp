#include "tests/oracle/fusion_structures.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t most_operations = 20;

// `left` run before `right`, sharing `between` where they meet.
FusionStructure joined(const FusionStructure& left, IndexSet between, const FusionStructure& right) {
  FusionStructure whole = left;
  whole.order.insert(whole.order.end(), right.order.begin(), right.order.end());
  if (!left.order.empty() && !right.order.empty()) whole.shared.push_back(between);
  whole.shared.insert(whole.shared.end(), right.shared.begin(), right.shared.end());
  return whole;
}

// Structures of the statements from one place to another, by what all of them share. A structure whose common loops
// are exactly `common_loops` has a neighbour that shares just these, else a further loop would span all of them: the
// first such neighbour divides it, so that every structure is made once.
class Structures {
 public:
  explicit Structures(const OperationTree& tree) : tree_(tree) {
    for (std::uint32_t number = 0; number < tree.operations.size(); ++number) order_.push_back(number);
  }

  std::vector<FusionStructure> sharing_at_least(std::size_t first, std::size_t last, IndexSet loops) const {
    if (first == last) return {one(first)};
    std::vector<FusionStructure> found;
    each_superset(loops, common_indices(tree_, order_, first, last), [&](IndexSet exact) {
      const std::vector<FusionStructure> more = sharing_exactly(first, last, exact);
      found.insert(found.end(), more.begin(), more.end());
    });
    return found;
  }

  std::vector<FusionStructure> sharing_more(std::size_t first, std::size_t last, IndexSet loops) const {
    if (first == last) return {one(first)};
    std::vector<FusionStructure> found;
    each_superset(loops, common_indices(tree_, order_, first, last), [&](IndexSet exact) {
      if (exact == loops) return;
      const std::vector<FusionStructure> more = sharing_exactly(first, last, exact);
      found.insert(found.end(), more.begin(), more.end());
    });
    return found;
  }

 private:
  FusionStructure one(std::size_t place) const { return {{order_[place]}, {}}; }

  std::vector<FusionStructure> sharing_exactly(std::size_t first, std::size_t last, IndexSet loops) const {
    std::vector<FusionStructure> found;
    for (std::size_t place = first; place < last; ++place) {
      const std::vector<FusionStructure> right = sharing_at_least(place + 1, last, loops);
      for (const FusionStructure& left : sharing_more(first, place, loops)) {
        for (const FusionStructure& tail : right) found.push_back(joined(left, loops, tail));
      }
    }
    return found;
  }

  template <typename Visit>
  static void each_superset(IndexSet loops, IndexSet bound, Visit visit) {
    const IndexSet free = bound & ~loops;
    for (IndexSet more = free;; more = (more - 1) & free) {
      visit(loops | more);
      if (more == 0) return;
    }
  }

  const OperationTree& tree_;
  std::vector<std::uint32_t> order_;
};

std::vector<FusionStructure> parenthesised_part(const OperationTree& tree, const std::vector<std::uint32_t>& chain,
                                                std::size_t first, std::size_t last) {
  if (first == last) return {FusionStructure{{chain[first]}, {}}};
  const IndexSet shared = common_indices(tree, chain, first, last);
  std::vector<FusionStructure> found;
  for (std::size_t split = first; split < last; ++split) {
    // Neighbours on the path are producer and reader, one way or the other.
    const bool upwards = tree.operations[chain[split]].reader == chain[split + 1];
    const std::vector<FusionStructure> lefts = parenthesised_part(tree, chain, first, split);
    const std::vector<FusionStructure> rights = parenthesised_part(tree, chain, split + 1, last);
    for (const FusionStructure& left : lefts) {
      for (const FusionStructure& right : rights) {
        found.push_back(upwards ? joined(left, shared, right) : joined(right, shared, left));
      }
    }
  }
  return found;
}

// From the lowest statement of the first fused producer up to `top` and down the second one, if there is one.
std::vector<std::uint32_t> chain_below(const std::vector<std::vector<std::uint32_t>>& fused_producers, std::uint32_t top) {
  std::vector<std::uint32_t> chain;
  for (std::uint32_t number = top;; number = fused_producers[number].front()) {
    chain.push_back(number);
    if (fused_producers[number].empty()) break;
  }
  std::reverse(chain.begin(), chain.end());
  if (fused_producers[top].size() < 2) return chain;
  for (std::uint32_t number = fused_producers[top][1];; number = fused_producers[number].front()) {
    chain.push_back(number);
    if (fused_producers[number].empty()) break;
  }
  return chain;
}

bool makes_chains(const OperationTree& tree, const std::vector<bool>& cut,
                  const std::vector<std::vector<std::uint32_t>>& fused_producers) {
  for (std::size_t number = 0; number < tree.operations.size(); ++number) {
    const std::size_t fused = fused_producers[number].size();
    if (fused > 2 || (fused == 2 && !cut[number])) return false;
  }
  return true;
}

}  // namespace

bool is_pure_contraction(const Contractions& contractions) {
  return std::ranges::all_of(contractions.steps, [](const Contraction& step) {
    if (step.factors.size() != 2) return false;
    const IndexSet target = index_set(step.target.indices);
    const IndexSet left = index_set(step.factors[0].indices);
    const IndexSet right = index_set(step.factors[1].indices);
    return (target ^ left ^ right) == 0;
  });
}

FusionStructure fusion_structure(const Schedule& schedule) {
  FusionStructure structure;
  for (std::uint32_t number = 0; number < schedule.statements.size(); ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    structure.order.push_back(number);
    if (number == 0) continue;
    IndexSet shared = 0;
    for (std::uint32_t loop = 0; loop < statement.fused; ++loop) shared |= one_index(statement.loops[loop]);
    structure.shared.push_back(shared);
  }
  return structure;
}

std::vector<Partition> partitions(const OperationTree& tree, bool fewest) {
  const std::size_t count = tree.operations.size();
  if (count == 0 || count > most_operations) return {};
  std::vector<std::uint32_t> intermediates;
  for (std::uint32_t number = 0; number < count; ++number) {
    if (tree.operations[number].reader < count) intermediates.push_back(number);
  }
  std::vector<Partition> found;
  std::vector<std::uint64_t> smallest;  // cut-points of the partitions that no other one is finer than
  // In order of the number of cut-points, so that a set is met after all that it contains.
  std::vector<std::uint64_t> sets;
  for (std::uint64_t cuts = 0; cuts < std::uint64_t{1} << intermediates.size(); ++cuts) sets.push_back(cuts);
  std::sort(sets.begin(), sets.end(), [](std::uint64_t left, std::uint64_t right) {
    return std::pair(std::popcount(left), left) < std::pair(std::popcount(right), right);
  });
  for (const std::uint64_t cuts : sets) {
    const bool finer = std::any_of(smallest.begin(), smallest.end(),
                                   [&](std::uint64_t other) { return (cuts & other) == other; });
    if (fewest && finer) continue;
    Partition partition;
    partition.cut.assign(count, true);
    std::vector<std::vector<std::uint32_t>> fused_producers(count);
    for (std::size_t number = 0; number < intermediates.size(); ++number) {
      if ((cuts >> number & 1) != 0) continue;
      partition.cut[intermediates[number]] = false;
      fused_producers[tree.operations[intermediates[number]].reader].push_back(intermediates[number]);
    }
    if (!makes_chains(tree, partition.cut, fused_producers)) continue;
    if (!finer) smallest.push_back(cuts);
    for (std::uint32_t number = 0; number < count; ++number) {
      if (partition.cut[number]) partition.chains.push_back(chain_below(fused_producers, number));
    }
    found.push_back(std::move(partition));
  }
  return found;
}

std::vector<FusionStructure> parenthesised(const OperationTree& tree, const std::vector<std::uint32_t>& chain) {
  if (chain.empty()) return {};
  return parenthesised_part(tree, chain, 0, chain.size() - 1);
}

std::vector<FusionStructure> maximal_structures(const OperationTree& tree) {
  std::vector<FusionStructure> found;
  for (const Partition& partition : partitions(tree, true)) {
    std::vector<FusionStructure> partial{{}};
    for (const std::vector<std::uint32_t>& chain : partition.chains) {
      std::vector<FusionStructure> longer;
      for (const FusionStructure& head : partial) {
        for (const FusionStructure& tail : parenthesised(tree, chain)) longer.push_back(joined(head, 0, tail));
      }
      partial = std::move(longer);
    }
    found.insert(found.end(), partial.begin(), partial.end());
  }
  return found;
}

std::vector<FusionStructure> all_structures(const OperationTree& tree, bool uncut) {
  if (tree.operations.empty()) return {};
  const Structures structures(tree);
  const std::size_t last = tree.operations.size() - 1;
  return uncut ? structures.sharing_more(0, last, 0) : structures.sharing_at_least(0, last, 0);
}

}  // namespace weft
