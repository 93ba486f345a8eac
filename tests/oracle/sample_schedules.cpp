#include "tests/oracle/sample_schedules.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/search/complete.h"
#include "engine/plan/space/contraction_variants.h"
#include "engine/plan/space/trees.h"

namespace weft {
namespace {

constexpr std::size_t most_orders = 24;      // of the steps of one tree
constexpr std::size_t most_enumerated = 6;   // factors up to which all trees are known
constexpr std::size_t attempts_each = 30;    // draws per schedule wanted: some are illegal, some come twice
constexpr double summed_first = 0.6;         // operands over what only they have
constexpr double looked_up = 0.3;            // a copy of an operand's fibers, and each further one

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the same numbers with
// every standard library.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(unit() * static_cast<double>(count)); }
  bool chance(double probability) { return unit() < probability; }
  template <class Value>
  void shuffle(std::vector<Value>& values) {
    for (std::size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[below(left)]);
  }

 private:
  std::uint64_t state_;
};

// Indices of the set first, each part in its order.
std::vector<IndexId> with_first(IndexSet first, const std::vector<IndexId>& loops) {
  std::vector<IndexId> ordered;
  std::ranges::copy_if(loops, std::back_inserter(ordered), [&](IndexId index) { return contains(first, index); });
  std::ranges::copy_if(loops, std::back_inserter(ordered), [&](IndexId index) { return !contains(first, index); });
  return ordered;
}

class Sampler {
 public:
  Sampler(const Problem& problem, std::uint64_t seed)
      : network_(problem.network),
        operands_(problem.operands),
        options_(problem.options),
        draws_(seed),
        trees_(choose_trees(Problem{problem.network, problem.operands, problem.options}).trees) {
    const std::vector<TensorAccess>& factors = problem.network.assignments[0].terms[0].factors;
    for (std::uint32_t factor = 0; factor < factors.size(); ++factor) {
      const OperandFacts& facts = facts_of(problem.operands, factors[factor].tensor);
      if (may_be_converted(facts) && facts.format.order() <= 12) convertible_.push_back(factor);
      if (has_sparse_level(facts.format)) sparse_ |= index_set(factors[factor].indices);
    }
  }

  std::vector<Schedule> run(std::size_t count) {
    std::vector<Schedule> found;
    std::set<std::string> texts;
    for (std::size_t attempt = 0; found.size() < count && attempt < count * attempts_each; ++attempt) {
      Schedule schedule = draw();
      if (!check(schedule, Problem{network_, operands_, options_})) continue;
      if (texts.insert(print(schedule, network_)).second) found.push_back(std::move(schedule));
    }
    return found;
  }

 private:
  // Among all trees the promising ones, which stand first, are drawn more often; beyond, where only a few trees are
  // known, pairs are contracted at random.
  ContractionTree tree() {
    const Term& term = network_.assignments[0].terms[0];
    const bool free = !options_.tree && term.open && term.pinned.nodes.size() == term.factors.size() + 1;
    if (free && term.factors.size() > most_enumerated && draws_.chance(0.5)) return random_tree(term.factors);
    const double promising = draws_.unit();
    return trees_[static_cast<std::size_t>(promising * promising * promising * static_cast<double>(trees_.size()))];
  }

  ContractionTree random_tree(const std::vector<TensorAccess>& factors) {
    ContractionTree tree;
    std::vector<std::pair<std::uint32_t, IndexSet>> open;
    for (std::uint32_t factor = 0; factor < factors.size(); ++factor) {
      tree.nodes.push_back({{}, factor});
      open.emplace_back(factor, index_set(factors[factor].indices));
    }
    while (open.size() > 1) {
      std::vector<std::pair<std::size_t, std::size_t>> pairs;
      for (std::size_t left = 0; left < open.size(); ++left) {
        for (std::size_t right = left + 1; right < open.size(); ++right) {
          if ((open[left].second & open[right].second) != 0) pairs.emplace_back(left, right);
        }
      }
      if (pairs.empty()) pairs.emplace_back(0, 1);
      const auto [left, right] = pairs[draws_.below(pairs.size())];
      tree.nodes.push_back({{open[left].first, open[right].first}, 0});
      open[left] = {static_cast<std::uint32_t>(tree.nodes.size() - 1), open[left].second | open[right].second};
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(right));
    }
    return canonical(tree);
  }

  // Half of the time sparse indices stand outside, as they do in most good nests.
  std::vector<IndexId> ordered(IndexSet set) {
    std::vector<IndexId> loops = members(set);
    draws_.shuffle(loops);
    return draws_.chance(0.5) ? with_first(sparse_, loops) : loops;
  }

  // A step keeps some of the leading loops that it can share with its predecessor; what the successor can share stands outside more
  // often than not.
  LoopNests nests(const Contractions& contractions) {
    LoopNests found;
    for (std::size_t number = 0; number < contractions.steps.size(); ++number) {
      const IndexSet all = indices_of(contractions.steps[number]);
      std::vector<IndexId> loops;
      found.fused.push_back(0);
      if (number > 0) {
        const std::vector<IndexId>& before = found.loops.back();
        std::size_t deepest = 0;
        while (deepest < before.size() && contains(all, before[deepest])) ++deepest;
        const std::size_t fused = draws_.chance(0.6) ? deepest : draws_.below(deepest + 1);
        loops.assign(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(fused));
        found.fused.back() = static_cast<std::uint32_t>(fused);
      }
      std::vector<IndexId> rest = ordered(all & ~index_set(loops));
      if (number + 1 < contractions.steps.size() && draws_.chance(0.6)) {
        rest = with_first(indices_of(contractions.steps[number + 1]), rest);
      }
      loops.insert(loops.end(), rest.begin(), rest.end());
      found.loops.push_back(std::move(loops));
    }
    return found;
  }

  void copy_as_mark_array(Contractions& contractions) {
    const std::size_t step = draws_.below(contractions.steps.size());
    const std::size_t factor = draws_.below(contractions.steps[step].factors.size());
    if (auto copied = with_mark_array(contractions, step, factor)) contractions = std::move(*copied);
  }

  Schedule draw() {
    const ContractionTree chosen = tree();
    const std::vector<std::vector<std::uint32_t>> orders = step_orders(chosen, most_orders);
    Contractions contractions = contractions_of(network_, chosen, orders[draws_.below(orders.size())], operands_, options_);
    std::vector<Contractions> sums = with_partial_sums(std::move(contractions), network_, options_);
    const bool summed = sums.size() > 1 && draws_.chance(summed_first);
    contractions = std::move(sums[summed ? draws_.below(sums.size()) : 0]);
    while (draws_.chance(looked_up)) copy_as_mark_array(contractions);
    const LoopNests chosen_nests = nests(contractions);
    AccessPaths paths(contractions.tensors.size());
    const double converted = draws_.unit();
    for (const std::uint32_t factor : convertible_) {
      if (!draws_.chance(converted)) continue;
      paths[factor] = AccessPath::of_loops();
      const std::vector<IndexId>& indices = network_.assignments.front().terms.front().factors[factor].indices;
      const bool diagonal = members(index_set(indices)).size() < indices.size();
      paths[factor].chained = indices.size() > 2 && !diagonal && draws_.chance(0.3);
    }
    const double fill_limit = dense_fill_limits[draws_.below(std::size(dense_fill_limits))];
    for (AccessPath& path : paths) {
      if (path.follows_loops()) path.fill_limit = fill_limit;
    }
    const std::optional<std::uint32_t> lender = contractions.tensors.back().like;
    if (lender && std::ranges::find(convertible_, *lender) != convertible_.end() && draws_.chance(0.5)) {
      const OperandFacts& facts = facts_of(operands_, contractions.tensors[*lender].tensor);
      const bool whole = contractions.tensors.back().layout.order() == facts.format.order();
      if (whole && chained_format(facts, fill_limit)) paths[*lender] = AccessPath::chained_in_order(fill_limit);
    }
    const CostModel model(contractions, Problem{network_, operands_, options_}, paths);
    Schedule completed = complete(contractions, chosen_nests, network_, model, paths, operands_);
    if (draws_.chance(0.2)) {
      for (ScheduledStatement& statement : completed.statements) statement.intersections.clear();
    }
    return completed;
  }

  const Network& network_;
  const std::vector<OperandFacts>& operands_;
  const PlanOptions& options_;
  Draws draws_;
  std::vector<ContractionTree> trees_;
  std::vector<std::uint32_t> convertible_;  // factors of the term
  IndexSet sparse_ = 0;                     // indices of sparse factors
};

}  // namespace

std::vector<Schedule> sample_schedules(const Problem& problem, std::size_t count, std::uint64_t seed) {
  const auto& [network, operands, options] = problem;
  if (!check_plannable(Problem{network, operands, options})) return {};
  return Sampler(Problem{network, operands, options}, seed).run(count);
}

}  // namespace weft
