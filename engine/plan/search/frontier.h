// Frontier: what a search did not look at, and so what may be claimed of what it found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/network/contraction_tree.h"

namespace weft {

/// Among which plans nothing is cheaper than the chosen one.
enum class Optimal : std::uint8_t {
  none,  ///< nothing is claimed
  tree,  ///< those of its contraction tree
  all,   ///< those of every tree
};

/// Why something was left out. The first of several is what a user is told.
enum class Why : std::uint8_t {
  solver_missing,
  effort_spent,
  priced_before_known,  ///< layouts on the way to the result
  too_many_nests,
  search_budget,
  layouts_untried,
};

class Frontier {
 public:
  /// A tree that is looked at: its number.
  std::size_t looks_at(const ContractionTree& tree);
  /// Plans of a tree, none of which takes less.
  void left_out(std::size_t tree, double least_ns, Why why) { left_out_.push_back({tree, least_ns, why, Scope::tree}); }
  /// Trees that are not looked at, all of whose plans may take anything.
  void left_out_trees(Why why) { left_out_.push_back({0, 0, why, Scope::other_trees}); }
  /// Plans of any tree.
  void left_out_any(Why why) { left_out_.push_back({0, 0, why, Scope::any_tree}); }

  /// Whether every tree was looked at, or ruled out by its bound.
  bool all_trees() const;

  /// What may be claimed of a plan of the chosen tree that takes `best_ns`. `beyond`: it has mark arrays, which are tried beside the
  /// proven choices, and its tree need not be among those that were looked at.
  Optimal claim(double best_ns, const ContractionTree& chosen, bool beyond = false) const;
  /// Why no more is claimed; nothing where all is.
  std::optional<Why> why_not(double best_ns) const;

 private:
  enum class Scope : std::uint8_t { tree, other_trees, any_tree };
  struct LeftOut {
    std::size_t tree = 0;
    double least_ns = 0;
    Why why = Why::layouts_untried;
    Scope scope = Scope::tree;
  };
  std::vector<ContractionTree> trees_;
  std::vector<LeftOut> left_out_;
};

}  // namespace weft
