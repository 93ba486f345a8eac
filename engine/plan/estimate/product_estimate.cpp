#include "engine/plan/estimate/product_estimate.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/sparse_levels.h"

namespace weft {
namespace {

constexpr std::size_t most_counted_modes = 6;  // all of whose subsets are estimated

}  // namespace

double combinations(IndexSet indices, const Network& network) {
  double product = 1;
  for (const IndexId index : members(indices)) product *= static_cast<double>(network.indices[index].extent);
  return product;
}

ProductEstimate::ProductEstimate(const Network& network, const std::vector<OperandFacts>& operands,
                                 const std::vector<TensorAccess>& factors) {
  for (const Index& index : network.indices) extents_.push_back(static_cast<double>(index.extent));
  for (const TensorAccess& factor : factors) {
    all_ |= index_set(factor.indices);
    // T(i,j) * T(i,j): a tensor lets through what it lets through, however often it stands there.
    const auto itself = factors.begin() + (&factor - factors.data());
    if (std::find(factors.begin(), itself, factor) != itself) continue;
    const OperandFacts& facts = facts_of(operands, factor.tensor);
    if (!has_sparse_level(facts.format)) continue;
    Factor& added = factors_.emplace_back(factor.indices, &facts.statistics);
    for (const std::uint64_t extent : network.tensors[factor.tensor].extents) added.extents.push_back(static_cast<double>(extent));
    restricted_ |= index_set(factor.indices);
  }
  everything_ = let_through(all_);
}

double ProductEstimate::combinations(IndexSet indices) const {
  double product = 1;
  for (; indices != 0; indices &= indices - 1) product *= extents_[static_cast<std::size_t>(std::countr_zero(indices))];
  return product;
}

double ProductEstimate::let_through(IndexSet indices) const {
  double let_through = combinations(indices);
  for (const Factor& factor : factors_) {
    ModeSet modes = 0;
    double product = 1;
    for (std::size_t mode = 0; mode < factor.indices.size(); ++mode) {
      if (!contains(indices, factor.indices[mode])) continue;
      modes |= ModeSet{1} << mode;
      product *= factor.extents[mode];
    }
    if (product <= 0) return 0;
    let_through *= std::min(1.0, (modes == 0 ? (factor.statistics->nnz() > 0 ? 1.0 : 0.0) : factor.statistics->distinct(modes)) / product);
  }
  return let_through;
}

void ProductEstimate::scale_let_through(IndexSet indices, double ratio) {
  joined_ = indices & restricted_;  // others have all their coordinates
  joined_ratio_ = ratio;
}

void ProductEstimate::take_counted(const Network& network, const TensorAccess& result, const std::map<std::string, double>& entries) {
  const auto counted = entries.find(network.tensors[result.tensor].name);
  if (counted == entries.end()) return;
  counted_ = index_set(result.indices) & restricted_;
  counted_distinct_ = counted->second;
}

double ProductEstimate::distinct(IndexSet indices) const {
  indices &= all_;
  if (counted_ == 0 || (indices & counted_) == 0) return by_independence(indices);
  const double counted = counted_distinct_ * combinations(indices & ~restricted_);
  const IndexSet summed = indices & restricted_ & ~counted_;
  if ((counted_ & ~indices) == 0) return summed == 0 ? counted : std::max(counted, by_independence(indices));
  return summed == 0 ? std::min(counted, by_independence(indices)) : by_independence(indices);
}

double ProductEstimate::by_independence(IndexSet indices) const {
  const bool joined = joined_ != 0 && (joined_ & ~indices) == 0;
  const double known = let_through(indices) * (joined ? joined_ratio_ : 1);
  const double others = combinations(all_ & ~indices);
  if (known <= 0 || others <= 0) return 0;
  const double chance = std::min(1.0, everything_ / (known * others));
  return chance >= 1 ? known : known * -std::expm1(others * std::log1p(-chance));
}

double ProductEstimate::fill(IndexSet indices) const {
  const double all = combinations(indices);
  return all > 0 ? distinct(indices) / all : 1;
}

ProductEstimate result_estimate(const Problem& problem) {
  const Assignment& assignment = problem.network.assignments.front();
  ProductEstimate product(problem.network, problem.operands, assignment.terms.front().factors);
  product.take_counted(problem.network, assignment.result, problem.options.entries);
  return product;
}

Statistics estimated_statistics(const ProductEstimate& product, const Network& network,
                                const std::vector<IndexId>& indices, const Format& format, bool finite) {
  std::vector<std::uint64_t> extents;
  for (const IndexId index : indices) extents.push_back(network.indices[index].extent);
  std::map<ModeSet, double> distinct;
  const ModeSet sets = indices.size() <= most_counted_modes ? ModeSet{1} << indices.size() : 0;
  for (ModeSet modes = 1; modes < sets; ++modes) {
    IndexSet set = 0;
    for (std::size_t mode = 0; mode < indices.size(); ++mode) {
      if ((modes >> mode & 1) != 0) set |= one_index(indices[mode]);
    }
    distinct[modes] = product.distinct(set);
  }
  return Statistics(std::move(extents), format, product.distinct(index_set(indices)), std::move(distinct), finite);
}

}  // namespace weft
