// Alternatives: contractions and the paths to their operands, chosen around loops and fusion; which paths there are, and what choices of
// them cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/problem.h"
#include "engine/plan/schedule/contractions.h"

namespace weft {

/// A path for every occurrence: those that are not named here are read as they are stored.
struct PathChoice {
  std::uint64_t converted = 0;  ///< a bit per convertible occurrence, in the order of the factors: in the order of its loops
  double fill_limit = dense_fill_limits[0];  ///< of these
  std::uint64_t transposed = 0;  ///< a bit per transposable operand
  bool chained = false;          ///< converted ones into chains of levels, in statements of one sparse operand
  std::uint64_t opened = 0;      ///< a hex digit per convertible occurrence that is not converted: which of its openings, from 1 on

  /// Nothing is claimed of such choices.
  bool is_beyond() const { return transposed != 0 || chained || opened != 0; }

  bool converts() const { return (converted | transposed | opened) != 0; }
  bool operator==(const PathChoice&) const = default;
};

/// A dense operand whose rows no loop can go along as it is stored, and the order of its modes that lets one. Any order of the loops
/// reaches its entries. What it cannot have is vector code along an index that is not the last of it: where sparse operands filter the
/// last one, as in O(i,k) = B(i,j) * A(k,j), all loops over A are gathers (2.4 to 3.6 ms instead of 0.7 to 0.9 for 60,000 entries and
/// 64 rows).
struct Transposable {
  TensorId tensor = 0;
  std::uint32_t last = 0;  ///< the mode that should be adjacent in memory
  bool operator==(const Transposable&) const = default;
};

/// Dense operands of the first assignment with an index that may become vector code, but not the last of any of their accesses:
/// A(k,j) where a sparse M(i,j) filters j, and k is nowhere else. None where accesses of an operand want different orders, and none
/// whose layout is pinned.
std::vector<Transposable> transposable_operands(const Problem& problem);

/// A layout of a sparse operand in the order of modes that it has, in which entries are looked up instead of searched.
struct Opening {
  AccessPath path;
  double ns = 0;  ///< once
};

/// Leading compressed levels made dense, one more each, as long as few of their positions have no entry; the last level marked. Only where
/// the last level that is looked up then is of a mode that other sparse operands have (`met`) at one of its occurrences: nothing else is
/// searched.
std::vector<Opening> openings_of(const OperandFacts& operand, ModeSet met, const Machine& machine);

class PathSpace {
 public:
  /// Refers to the parts of the problem.
  explicit PathSpace(const Problem& problem);

  /// Occurrences of sparse operands that may be converted, and the bits of all of them.
  std::size_t convertible() const { return factors_.size(); }
  std::uint64_t all_converted() const { return (std::uint64_t{1} << factors_.size()) - 1; }
  /// The factor of the term that a convertible occurrence is.
  std::uint32_t factor(std::size_t number) const { return factors_[number]; }
  /// Whether the term has one sparse operand, that may be converted to a chain of levels.
  bool chains() const { return chains_; }
  /// Choices of dense operands to transpose: all that may be, and each alone.
  const std::vector<std::uint64_t>& transposed() const { return transposed_; }
  /// The choice with a convertible occurrence opened in each way, instead of converted; all of its operand that have the same layout
  /// alike, with the first of them.
  std::vector<PathChoice> openings(const PathChoice& from, std::size_t number) const;

  /// Nanoseconds that a choice takes each call: with one conversion per operand, and with one per occurrence.
  double least_ns(const PathChoice& choice) const { return conversions_ns(choice, true); }
  double most_ns(const PathChoice& choice) const { return conversions_ns(choice, false); }
  /// Whether layouts of converted occurrences may have other dense levels with this one of `dense_fill_limits` than with the first.
  bool differs(std::uint64_t converted, std::size_t fill_limit) const;
  /// Per tensor of contractions, whose occurrences come first, in the order of the factors. The operand whose positions the result has
  /// is read as it is stored, or through a copy that has its entries in the same order.
  AccessPaths paths(const Contractions& contractions, const PathChoice& choice) const;
  /// Of the convertible occurrences those that may be converted there, in whatever order of modes.
  std::uint64_t converted_in(const Contractions& contractions) const;

 private:
  const std::vector<TensorAccess>& factors() const;
  const TensorAccess& access(std::size_t number) const { return factors()[factors_[number]]; }
  bool keeps_places(const Contractions& contractions, const PathChoice& choice) const;
  double conversions_ns(const PathChoice& choice, bool shared) const;
  void find_openings();

  const Problem problem_;
  std::vector<std::uint32_t> factors_;  // convertible ones
  std::vector<Transposable> transposable_;
  std::vector<std::uint64_t> transposed_;
  std::vector<std::vector<Opening>> openings_;  // of the first convertible ones
  bool chains_ = false;
};

struct Alternative {
  Contractions contractions;
  AccessPaths paths;  ///< per tensor
};

/// One conversion per tensor that has a converted access: the least that an alternative pays, divided by calls.
double least_conversion_ns(const Alternative& alternative, const std::vector<OperandFacts>& operands,
                           const PlanOptions& options, const std::set<TensorId>& without = {});

struct AlternativeChoice {
  std::vector<Alternative> alternatives;
  bool complete = true;  ///< there were no more than `most`, and the trees were all
};

/// Every tree, depth-first order of steps, set of converted accesses and choice of dense levels.
AlternativeChoice all_alternatives(const Problem& problem, std::size_t most);

/// Layouts that a tensor of several assignments may have.
struct SharedLayouts {
  std::vector<Format> formats;
  bool all = true;  ///< beyond three modes only those that are named elsewhere
};

/// What conversions of an operand can make of it: every order of its modes, with every number of leading dense levels
/// that the search prices; not the layout that it has.
SharedLayouts operand_layouts(const Network& network, TensorId operand, const std::vector<OperandFacts>& operands);

/// How the result of a network of one assignment may be stored without a request: every order of its modes. Without the
/// plain order of a dense result, and without any where the result takes the positions of an operand.
SharedLayouts result_layouts(const Problem& problem);

}  // namespace weft
