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

namespace {

constexpr std::size_t most_transposable = 63;

bool may_be_transposed(const OperandFacts& operand) {
  return !operand.pinned && !operand.computed && operand.format.order() > 1 && operand.format.order() <= most_convertible_modes &&
         operand.format.all_dense() && std::ranges::none_of(operand.format.levels, &Level::strided);
}

// The mode that should be last, by all accesses of the operand: the longest index that may become vector code. Nothing if the
// last mode of any access may, or another access wants another one.
std::optional<std::uint32_t> wanted_last(const OperandFacts& operand, const Network& network, IndexSet vectorizable) {
  std::optional<std::uint32_t> wanted;
  for (const TensorAccess& access : network.assignments.front().terms.front().factors) {
    if (access.tensor != operand.tensor) continue;
    std::optional<std::uint32_t> best;
    for (const std::uint32_t mode : operand.format.mode_order) {
      const IndexId index = access.indices[mode];
      const std::uint64_t extent = network.indices[index].extent;
      if (std::ranges::count(access.indices, index) > 1) return std::nullopt;
      if (!contains(vectorizable, index) || extent < 2) continue;
      if (mode == operand.format.mode_order.back()) return std::nullopt;
      if (!best || extent > network.indices[access.indices[*best]].extent) best = mode;
    }
    if (!best || (wanted && *wanted != *best)) return std::nullopt;
    wanted = best;
  }
  return wanted;
}

}  // namespace

std::vector<Transposable> transposable_operands(const Problem& problem) {
  const auto& [network, operands, options] = problem;
  const Assignment& assignment = network.assignments.front();
  IndexSet vectorizable = options.strict_fp ? index_set(assignment.result.indices) : ~IndexSet{0};
  for (const TensorAccess& access : assignment.terms.front().factors) {
    if (has_sparse_level(facts_of(operands, access.tensor).format)) vectorizable &= ~index_set(access.indices);
  }
  const auto pattern = options.result_patterns.find(network.tensors[assignment.result.tensor].name);
  std::vector<Transposable> found;
  for (const OperandFacts& operand : operands) {
    const bool like = pattern != options.result_patterns.end() && network.tensors[operand.tensor].name == pattern->second;
    if (like || !may_be_transposed(operand) || found.size() == most_transposable) continue;
    if (const auto last = wanted_last(operand, network, vectorizable)) found.push_back({operand.tensor, *last});
  }
  return found;
}

}  // namespace weft
