// Contraction trees of a term: which exist, which are worth planning first, and which need not be looked at for the least that their
// largest intermediate takes, whatever is fused and in whichever order their steps run.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/schedule/result_format.h"
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

/// The steps of a tree, by number.
struct OperationTree {
  struct Operation {
    IndexSet indices = 0;       ///< what it loops over
    IndexSet modes = 0;         ///< of what it writes
    std::uint32_t reader = 0;   ///< the step that reads it; of the root: the number of steps
    bool operator==(const Operation&) const = default;
  };
  std::vector<Operation> operations;
  bool operator==(const OperationTree&) const = default;
};

OperationTree operation_tree(Steps steps);

/// Indices of all operations at places first … last of an order.
IndexSet common_indices(const OperationTree& tree, const std::vector<std::uint32_t>& order, std::size_t first, std::size_t last);

/// The dimension of the largest intermediate that some fusion of the tree's steps leaves, over all parenthesisations
/// of all orders of the steps: less is impossible with any loops and layouts. Nothing is known (0) beyond 5000
/// orders. Fusing more never raises a dimension, so maximally fused structures decide.
std::uint32_t least_workspace_order(const OperationTree& tree);

/// The same of the bytes of the largest intermediate: no schedule of these contractions, in any order, stores only smaller ones.
/// Sparse ones count nothing.
double least_workspace_bytes(const Contractions& contractions, const Network& network);

/// Leaves the trees that store an intermediate, unless none does: for nests that are not fused.
void keep_storing(std::vector<ContractionTree>& trees);

/// Under a memory limit, trees whose smallest workspaces, over all fusions, do not fit beside operands and results have no
/// schedule that can be carried out. They are left out, and how many is returned. All stay where none fits, for the error
/// tells what the best one needs.
std::uint64_t leave_out_too_large(std::vector<ContractionTree>& trees, const Problem& problem,
                                  const ResultFormat& result);

}  // namespace weft
