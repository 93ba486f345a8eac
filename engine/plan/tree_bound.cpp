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

double least_iterations(const Network& network, const Term& term, const std::vector<OperandFacts>& operands,
                        const PlanOptions& options, double below_ns, IndexSet indices) {
  const auto extent = [&](IndexId index) { return static_cast<double>(network.indices[index].extent); };
  double count = 1;
  for (const IndexId index : members(indices)) count *= extent(index);
  count *= least_joined(options);
  for (const TensorAccess& factor : term.factors) {
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    if (!has_sparse_level(facts.format)) continue;
    const bool free = is_free(facts, options, below_ns);
    double least = 1;
    double room = 1;
    ModeSet modes = 0;
    for (const std::uint32_t mode : facts.format.mode_order) {
      if (!contains(indices, factor.indices[mode])) {
        if (free) continue;  // converted, its modes may be bound in any order
        break;
      }
      room *= extent(factor.indices[mode]);
      modes |= ModeSet{1} << mode;
      least = std::min(least, room > 0 ? facts.statistics.distinct(modes) / room : 0);
    }
    count *= least;
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
      modes[number] = index_set(factor.indices);
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
    work += least_iterations(network, term, operands, options, below_ns, indices) * body;
    any_loops = any_loops || indices != 0;
  }
  if (!any_loops) return 0;
  // Times of nests are concave in their work: all of it in one nest takes no longer.
  const Machine& machine = options.machine;
  return std::min(work + machine.start_serial, work / machine.threads + machine.start_parallel);
}

}  // namespace weft
