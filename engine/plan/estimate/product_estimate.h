// How many entries a product has: the structural fill of results and intermediates, before anything is computed.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine/plan/index_set.h"
#include "engine/plan/problem.h"

namespace weft {

/// Of the coordinates of these indices.
double combinations(IndexSet indices, const Network& network);

/// Expected numbers of distinct coordinates of a product, from the distinct counts of its factors by independence
/// (facts.md, "What predicts the time of a loop order"): a combination of the indices U that all factors let through,
/// as far as they know U, is an entry unless none of the E combinations of the other indices contributes,
///
///   distinct(U) = let_through(U) * (1 - (1 - q)^E),   q = all contributions / (let_through(U) * E)
///
/// Contributions may be known better: where hubs meet, a masked product has as many entries as its mask and not as few as
/// independence says. So may the entries of a result: of A·A of a matrix of a mesh independence expects up to fifty times
/// too many, for neighbours have the same neighbours.
///
/// Keeps references to the statistics of the operands.
class ProductEstimate {
 public:
  ProductEstimate() = default;
  /// The product of these factors of the first assignment's term.
  ProductEstimate(const Network& network, const std::vector<OperandFacts>& operands,
                  const std::vector<TensorAccess>& factors);

  /// How many contributions there are over what independence says.
  void scale_contributions(double ratio) { everything_ *= ratio; }

  /// How many combinations of these indices all factors let through over what independence says: of T * T, whose factors are
  /// one tensor, all of its entries.
  void scale_let_through(IndexSet indices, double ratio);

  /// With what was counted of a result that it is the product of (PlanOptions::entries), if it was.
  void take_counted(const Network& network, const TensorAccess& result, const std::map<std::string, double>& entries);

  double distinct(IndexSet indices) const;
  double extent(IndexId index) const { return extents_[index]; }
  /// Share of all combinations of the indices that are entries; 1 without combinations.
  double fill(IndexSet indices) const;
  /// Indices of factors that have a level which is not dense: what they leave out is absent from the product too.
  IndexSet restricted() const { return restricted_; }

 private:
  struct Factor {
    std::vector<IndexId> indices;  // by mode
    const Statistics* statistics = nullptr;
    std::vector<double> extents = {};  // by mode
  };
  double combinations(IndexSet indices) const;
  double let_through(IndexSet indices) const;
  double by_independence(IndexSet indices) const;

  std::vector<double> extents_;
  std::vector<Factor> factors_;  // those that restrict
  IndexSet all_ = 0;
  IndexSet restricted_ = 0;
  double everything_ = 0;  // contributions
  IndexSet joined_ = 0;
  double joined_ratio_ = 1;
  IndexSet counted_ = 0;  // of a result, those that factors restrict
  double counted_distinct_ = 0;
};

/// Of the whole term of the first assignment, with what was counted of its result.
ProductEstimate result_estimate(const Problem& problem);

/// Statistics of a tensor with these indices whose entries are those of the product.
Statistics estimated_statistics(const ProductEstimate& product, const Network& network,
                                const std::vector<IndexId>& indices, const Format& format, bool finite);

}  // namespace weft
