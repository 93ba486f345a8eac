#include "engine/plan/tree_bound.h"

#include <algorithm>

#include "engine/plan/binding.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/joins.h"

namespace weft {
namespace {

bool is_free(const OperandFacts& facts, const PlanOptions& options, double below_ns) {
  return may_be_converted(facts) && conversion_ns(facts, options.machine) / std::max(1.0, options.calls) < below_ns;
}

double combinations(const Network& network, IndexSet indices) {
  double count = 1;
  for (const IndexId index : members(indices)) count *= static_cast<double>(network.indices[index].extent);
  return count;
}

// Share of the combinations of the indices that a sparse factor lets through, at least.
double least_density(const Network& network, const TensorAccess& factor, const OperandFacts& facts, bool free, IndexSet indices) {
  double least = 1;
  double room = 1;
  ModeSet modes = 0;
  for (const std::uint32_t mode : facts.format.mode_order) {
    if (!contains(indices, factor.indices[mode])) {
      if (free) continue;  // converted, its modes may be bound in any order
      break;
    }
    room *= static_cast<double>(network.indices[factor.indices[mode]].extent);
    modes |= ModeSet{1} << mode;
    least = std::min(least, room > 0 ? facts.statistics.distinct(modes) / room : 0);
  }
  return least;
}

// Per factor, what no other factor of the term has, and not its result; nothing of a factor that is alone.
std::vector<IndexSet> own_indices(const Assignment& assignment) {
  const std::vector<TensorAccess>& factors = assignment.terms.front().factors;
  std::vector<IndexSet> own(factors.size(), 0);
  for (std::size_t factor = 0; factor < factors.size() && factors.size() > 1; ++factor) {
    IndexSet others = index_set(assignment.result.indices);
    for (std::size_t other = 0; other < factors.size(); ++other) {
      if (other != factor) others |= index_set(factors[other].indices);
    }
    own[factor] = index_set(factors[factor].indices) & ~others;
  }
  return own;
}

// Of a statement whose loops have these indices, and those that factors have for themselves or not: those may be summed
// before the factor meets the others (partial_sums.h).
double least_iterations(const Network& network, const std::vector<OperandFacts>& operands, const PlanOptions& options,
                        double below_ns, const std::vector<IndexSet>& own_of_factors, IndexSet indices) {
  const std::vector<TensorAccess>& factors = network.assignments.front().terms.front().factors;
  double count = combinations(network, indices) * least_joined(options);
  for (std::size_t number = 0; number < factors.size(); ++number) {
    const TensorAccess& factor = factors[number];
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    const IndexSet own = own_of_factors[number] & ~indices;
    if (!has_sparse_level(facts.format)) {
      count *= std::min(1.0, combinations(network, own));
      continue;
    }
    const bool free = is_free(facts, options, below_ns);
    const double summed = least_density(network, factor, facts, free, indices);
    const double whole = own == 0 ? summed : least_density(network, factor, facts, free, indices | own) * combinations(network, own);
    count *= std::min(summed, whole);
  }
  return count;
}

// Indices that a factor of the statement binds with a sparse level wherever it is bound: no vector code runs over them.
IndexSet never_vector(const TensorAccess& factor, const OperandFacts& facts, const PlanOptions& options, double below_ns) {
  IndexSet indices = 0;
  if (is_free(facts, options, below_ns)) return indices;
  for (std::size_t level = 0; level < facts.format.order(); ++level) {
    if (is_sparse(facts.format.levels[level].kind)) indices |= one_index(factor.indices[facts.format.mode_order[level]]);
  }
  return indices;
}

}  // namespace

double least_tree_ns(const Network& network, const ContractionTree& tree, const std::vector<OperandFacts>& operands,
                     const PlanOptions& options, double below_ns) {
  const Assignment& assignment = network.assignments.front();
  const Term& term = assignment.terms.front();
  const IndexSet result = index_set(assignment.result.indices);
  const std::vector<IndexSet> own = own_indices(assignment);
  std::vector<std::uint32_t> leaves(tree.nodes.size());
  std::vector<IndexSet> modes(tree.nodes.size());
  std::vector<IndexSet> scalar(tree.nodes.size());
  double work = 0;
  bool any_loops = false;
  for (std::size_t number = 0; number < tree.nodes.size(); ++number) {
    const ContractionTree::Node& node = tree.nodes[number];
    if (node.children.empty()) {
      const TensorAccess& factor = term.factors[node.factor];
      leaves[number] = std::uint32_t{1} << node.factor;
      modes[number] = index_set(factor.indices) & ~own[node.factor];
      scalar[number] = never_vector(factor, facts_of(operands, factor.tensor), options, below_ns);
      continue;
    }
    IndexSet indices = 0;
    IndexSet never = 0;
    for (const std::uint32_t child : node.children) {
      leaves[number] |= leaves[child];
      indices |= modes[child];
      never |= scalar[child];
    }
    IndexSet outside = result;
    for (std::size_t factor = 0; factor < term.factors.size(); ++factor) {
      if ((leaves[number] >> factor & 1) == 0) outside |= index_set(term.factors[factor].indices);
    }
    modes[number] = indices & outside;
    const auto factors = static_cast<double>(node.children.size());
    const double vector = factors * options.machine.vector_flop;
    const double alone = options.machine.scalar_body + options.machine.scalar_factor * factors;
    const double body = (indices & ~never) == 0 ? alone : std::min(alone, vector);
    work += least_iterations(network, operands, options, below_ns, own, indices) * body;
    any_loops = any_loops || indices != 0;
  }
  if (!any_loops) return 0;
  // Times of nests are concave in their work: all of it in one nest takes no longer.
  const Machine& machine = options.machine;
  return std::min(work + machine.start_serial, work / machine.threads + machine.start_parallel);
}

}  // namespace weft
