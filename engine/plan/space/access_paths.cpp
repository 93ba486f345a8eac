#include "engine/plan/space/access_paths.h"

#include <algorithm>
#include <optional>
#include <set>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/index_set.h"
#include "engine/plan/schedule/binding.h"

namespace weft {
namespace {

constexpr std::size_t most_converted = 56;  // of the first so many factors

}  // namespace

PathSpace::PathSpace(const Problem& problem)
    : network_(problem.network), operands_(problem.operands), options_(problem.options), transposable_(transposable_operands(problem)) {
  const Term& term = problem.network.assignments.front().terms.front();
  for (std::uint32_t factor = 0; factor < term.factors.size(); ++factor) {
    const OperandFacts& facts = facts_of(problem.operands, term.factors[factor].tensor);
    if (!may_be_converted(facts) || facts.format.order() > most_convertible_modes || factor >= most_converted) continue;
    factors_.push_back(factor);
  }
  const auto sparse = std::ranges::count_if(term.factors, [&](const TensorAccess& factor) {
    return has_sparse_level(facts_of(problem.operands, factor.tensor).format);
  });
  // Not of a diagonal, whose modes are bound together.
  const auto is_plain = [](const TensorAccess& read) { return members(index_set(read.indices)).size() == read.indices.size(); };
  chains_ = sparse == 1 && factors_.size() == 1 && access(0).indices.size() > 2 && is_plain(access(0));
  const std::size_t dense = transposable_.size();
  if (dense > 1) transposed_.push_back((std::uint64_t{1} << dense) - 1);
  for (std::size_t number = 0; number < dense; ++number) transposed_.push_back(std::uint64_t{1} << number);
}

const TensorAccess& PathSpace::access(std::size_t number) const {
  return network_.assignments.front().terms.front().factors[factors_[number]];
}

double PathSpace::conversions_ns(const PathChoice& choice, bool shared) const {
  double ns = 0;
  const auto convert = [&](TensorId tensor) {
    ns += conversion_ns(facts_of(operands_, tensor), options_.machine) / std::max(1.0, options_.calls);
  };
  std::set<TensorId> converted;
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    const TensorId tensor = access(number).tensor;
    if ((choice.converted >> number & 1) != 0 && (converted.insert(tensor).second || !shared)) convert(tensor);
  }
  for (std::size_t number = 0; number < transposable_.size(); ++number) {
    if ((choice.transposed >> number & 1) != 0) convert(transposable_[number].tensor);
  }
  return ns;
}

bool PathSpace::differs(std::uint64_t converted, std::size_t fill_limit) const {
  const auto [low, high] = std::minmax(dense_fill_limits[0], dense_fill_limits[fill_limit]);
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    if ((converted >> number & 1) == 0) continue;
    const TensorAccess& read = access(number);
    const Statistics& statistics = facts_of(operands_, read.tensor).statistics;
    const ModeSet all = (ModeSet{1} << read.indices.size()) - 1;
    for (ModeSet modes = 1; modes < all; ++modes) {
      double combinations = 1;
      for (const IndexId mode : members(modes)) combinations *= static_cast<double>(network_.indices[read.indices[mode]].extent);
      const double distinct = statistics.distinct(modes);
      if (combinations > low * distinct && combinations <= high * distinct) return true;
    }
  }
  return false;
}

std::uint64_t PathSpace::converted_in(const Contractions& contractions) const {
  const auto like = std::ranges::find_if(factors_, [&](std::uint32_t factor) { return contractions.tensors.back().like == factor; });
  if (like == factors_.end()) return all_converted();
  return all_converted() & ~(std::uint64_t{1} << (like - factors_.begin()));
}

AccessPaths PathSpace::paths(const Contractions& contractions, const PathChoice& choice) const {
  AccessPaths paths(contractions.tensors.size());
  const std::uint64_t converted = choice.converted & converted_in(contractions);
  for (std::size_t number = 0; number < factors_.size(); ++number) {
    if ((converted >> number & 1) == 0) continue;
    const bool chained = choice.chained && contractions.steps.size() == 1;
    paths[factors_[number]] = chained ? AccessPath::chain_of_loops(choice.fill_limit) : AccessPath::of_loops(choice.fill_limit);
  }
  const std::vector<TensorAccess>& factors = network_.assignments.front().terms.front().factors;
  for (std::size_t number = 0; number < transposable_.size(); ++number) {
    if ((choice.transposed >> number & 1) == 0) continue;
    for (std::size_t factor = 0; factor < factors.size(); ++factor) {
      if (factors[factor].tensor == transposable_[number].tensor) paths[factor] = AccessPath::transposed(transposable_[number].last);
    }
  }
  return paths;
}

}  // namespace weft
