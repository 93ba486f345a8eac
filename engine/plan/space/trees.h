// Contraction trees of a term: which exist, and which are worth planning first.
#pragma once

#include <vector>

#include "engine/plan/schedule/statements.h"

namespace weft {

/// Trees the planner may choose from, the most promising first.
struct TreeChoice {
  std::vector<ContractionTree> trees;
  bool complete = true;  ///< every tree that the term and the options allow is among them
};

/// All trees over so many leaves: every node contracts two or more (1, 1, 4, 26, 236, 2752 for 1 … 6 leaves).
/// At most 6 leaves.
std::vector<ContractionTree> all_trees(std::size_t leaves);

/// The pinned tree alone where there is one. Else all trees up to 6 factors (or parenthesised groups), ordered by
/// estimated work; beyond that the best binary tree by dynamic programming over subsets, or greedily where there are
/// too many connected subsets, and the single n-ary product.
TreeChoice choose_trees(const Problem& problem);

}  // namespace weft
