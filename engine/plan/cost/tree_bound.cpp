#include "engine/plan/cost/tree_bound.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/cost/statement_models.h"
#include "engine/plan/estimate/joins.h"
#include "engine/plan/schedule/binding.h"

namespace weft {
namespace {

constexpr double rounding = 0.95;  // statistics are rounded, so that densities do not fall with every index that is bound

}  // namespace

TreeBound::TreeBound(const Problem& problem)
    : network_(problem.network),
      machine_(problem.options.machine),
      least_joined_(least_joined(problem.options)),
      result_(index_set(problem.network.assignments.front().result.indices)) {
  const auto& [network, operands, options] = problem;
  const std::vector<TensorAccess>& accesses = network.assignments.front().terms.front().factors;
  factors_.reserve(accesses.size());
  for (const TensorAccess& access : accesses) {
    Factor factor;
    factor.access = &access;
    factor.facts = &facts_of(operands, access.tensor);
    factor.indices = index_set(access.indices);
    const Format& format = factor.facts->format;
    factor.sparse = has_sparse_level(format);
    factor.conversion_ns = may_be_converted(*factor.facts) ? conversion_ns(*factor.facts, machine_) / std::max(1.0, options.calls)
                                                           : std::numeric_limits<double>::infinity();
    for (std::size_t level = 0; level < format.order(); ++level) {
      if (is_sparse(format.levels[level].kind)) factor.scalar |= one_index(access.indices[format.mode_order[level]]);
    }
    factors_.push_back(factor);
  }
  for (Factor& factor : factors_) {
    IndexSet of_other_factors = result_;
    IndexSet of_other_accesses = result_;
    for (const Factor& other : factors_) {
      if (&other != &factor) of_other_factors |= other.indices;
      if (*other.access != *factor.access) of_other_accesses |= other.indices;
    }
    if (factors_.size() > 1) factor.own = factor.indices & ~of_other_factors;
    factor.adds_up = factor.sparse && (factor.indices & ~of_other_accesses) != 0;
  }
}

// Share of the combinations of the indices that a sparse factor lets through, at least.
double TreeBound::least_density(const Factor& factor, IndexSet indices, bool any_order) const {
  double least = 1;
  double room = 1;
  ModeSet modes = 0;
  for (const std::uint32_t mode : factor.facts->format.mode_order) {
    const IndexId index = factor.access->indices[mode];
    if (!contains(indices, index)) {
      if (any_order) continue;
      break;
    }
    room *= static_cast<double>(network_.indices[index].extent);
    modes |= ModeSet{1} << mode;
    least = std::min(least, room > 0 ? factor.facts->statistics.distinct(modes) / room : 0);
  }
  return least;
}

// Of a statement whose loops have these indices, and those that factors have for themselves or not: those may be summed
// before the factor meets the others (contraction_variants.h). A factor that is converted, or not `read` by this statement but by another,
// which may store entries alone, may have its modes bound in any order: R[i] += A * x[i] has an iteration for each i of C in
// x[i] += B[j] * C[j,i], C by rows or not.
double TreeBound::counted_iterations(IndexSet indices, std::uint32_t read) const {
  double count = combinations(indices, network_) * least_joined_;
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    const Factor& factor = factors_[number];
    const IndexSet own = factor.own & ~indices;
    const bool any_order = factor.free || (read >> number & 1) == 0 || own != 0;
    if (!factor.sparse) {
      count *= std::min(1.0, combinations(own, network_));
      continue;
    }
    const double summed = least_density(factor, indices, any_order);
    const double whole = own == 0 ? summed : least_density(factor, indices | own, any_order) * combinations(own, network_);
    count *= std::min(summed, whole);
  }
  return count;
}

double TreeBound::least_iterations(IndexSet indices, std::uint32_t read) {
  const auto is_known = [&](const Iterations& one) { return one.indices == indices && one.read == read; };
  const auto known = std::ranges::find_if(iterations_, is_known);
  if (known != iterations_.end()) return known->count;
  return iterations_.emplace_back(indices, read, counted_iterations(indices, read)).count;
}

double TreeBound::least_ns(const ContractionTree& tree, double below_ns) {
  for (Factor& factor : factors_) {
    const bool free = factor.conversion_ns < below_ns;
    if (free != factor.free) iterations_.clear();
    factor.free = free;
  }
  nodes_.assign(tree.nodes.size(), {});
  double work = 0;
  bool any_loops = false;
  for (std::size_t number = 0; number < tree.nodes.size(); ++number) {
    const ContractionTree::Node& node = tree.nodes[number];
    Node& made = nodes_[number];
    if (node.children.empty()) {
      const Factor& factor = factors_[node.factor];
      made.leaves = std::uint32_t{1} << node.factor;
      made.modes = factor.indices & ~factor.own;
      made.scalar = factor.free ? 0 : factor.scalar;
      made.adds_up = factor.adds_up;
      continue;
    }
    IndexSet indices = 0;
    IndexSet never = 0;  // vector code
    bool adds_up = false;
    std::uint32_t read = 0;
    for (const std::uint32_t child : node.children) {
      made.leaves |= nodes_[child].leaves;
      if (tree.nodes[child].children.empty()) read |= nodes_[child].leaves;
      indices |= nodes_[child].modes;
      never |= nodes_[child].scalar;
      adds_up = adds_up || nodes_[child].adds_up;
    }
    IndexSet outside = result_;
    for (std::size_t factor = 0; factor < factors_.size(); ++factor) {
      if ((made.leaves >> factor & 1) == 0) outside |= factors_[factor].indices;
    }
    made.modes = indices & outside;
    const auto factors = static_cast<double>(node.children.size());
    const double vector = factors * machine_.vector_flop;
    const bool sums = (indices & ~made.modes) != 0;
    const double sum = adds_up ? adjacent_share : sums ? std::min(scatter_share, machine_.fiber_sum) : scatter_share;
    const double alone = (machine_.scalar_body + machine_.scalar_factor * factors) * sum;
    const double body = (indices & ~never) == 0 ? alone : std::min(alone, vector);
    work += least_iterations(indices, read) * body;
    any_loops = any_loops || indices != 0;
  }
  if (!any_loops) return 0;
  // Times of nests are concave in their work: all of it in one nest takes no longer.
  return std::min(work + machine_.start_serial, work / machine_.threads + machine_.start_parallel);
}

// Every statement runs its innermost loop, whichever that is, once per combination of its other indices: at least those
// that the sparse factors of all statements let through, for others may have shared the loops outside, and filtered them.
// A loop that another statement may share has no price of its own, only a body; nor has one where joins were counted, whose
// steps depend on what shares the loops outside. Times of nests are concave in their work,
// so that all of it in one nest takes no longer.
double CostModel::least_ns() const {
  const double least_ratio = least_joined(options_);
  const auto entries = [&](IndexSet bound) {
    double count = combinations(bound) * least_ratio;
    for (const Placed& statement : statements_) {
      if (statement.model->leaves_out) count *= std::min(1.0, models_->density(statement.number, bound));
    }
    return count;
  };
  double work = 0;
  double between = 0;  // storing intermediates there, and starting the nests that read them
  bool any_loops = false;
  for (std::size_t number = 0; number < statements_.size(); ++number) {
    const StatementRange alone{number, number};
    const IndexSet own = indices(number);
    const auto within = [&](std::size_t other) { return other < statements_.size() && (own & ~indices(other)) == 0; };
    if (!statements_[number].model->compressed.empty()) between += workspace(number, 0).ns + options_.machine.start_serial;
    if (own == 0) continue;
    any_loops = true;
    if (joined() || within(number - 1) || within(number + 1)) {
      work += entries(own) * statements_[number].model->least_body_ns;
      continue;
    }
    double least = std::numeric_limits<double>::infinity();
    for (IndexSet open = own; open != 0; open &= open - 1) {
      const auto index = static_cast<IndexId>(std::countr_zero(open));
      const IndexSet outside = own & ~one_index(index);
      const double times = entries(outside);
      double ns = price(outside, index, alone, 0).ns;
      if (writes_sparse(number)) ns = std::min(ns, price({outside, true}, index, alone, 0).ns);
      const StatementModels::Statement& model = *statements_[number].model;
      for (const Batch batch : {model.last_batch(index), model.column != 0 ? Batch::product : Batch::none}) {
        if (batch == Batch::none) continue;
        Outside waiting{outside};
        waiting.batch = batch;
        waiting.batched = static_cast<std::uint32_t>(number);
        ns = std::min(ns, price(waiting, index, alone, 0).ns);
      }
      least = std::min(least, times > 0 ? times * ns : 0);
    }
    work += least;
  }
  if (!any_loops) return 0;
  const Machine& machine = options_.machine;
  return between + rounding * std::min(work + machine.start_serial, work / machine.threads + machine.start_parallel);
}

}  // namespace weft
