// ContractionTree: in which order the factors of a term are contracted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/error.h"

namespace weft {

/// A tree whose leaves are the factors of a term (each exactly once) and whose inner nodes contract two or more
/// children at once. Children stand before their parents in `nodes`; the root is the last node. The tree of a
/// term with one factor is that leaf alone.
struct ContractionTree {
  struct Node {
    std::vector<std::uint32_t> children;  ///< node numbers; empty for a leaf
    std::uint32_t factor = 0;             ///< of a leaf
    bool operator==(const Node&) const = default;
  };
  std::vector<Node> nodes;
  bool operator==(const ContractionTree&) const = default;
};

/// One contraction of all factors at once (a single leaf if there is one factor).
ContractionTree flat_tree(std::size_t factors);

/// Every factor once, children before parents, no inner node with fewer than two children, one root.
Expected<void> check(const ContractionTree& tree, std::size_t factors);

/// "((T * C) * B)", with the factors' names; "(A * B * C)" is n-ary; one factor: "T"; none: "". A name that occurs
/// several times and not in the order of the expression is numbered: "((K.2 * W) * K.1)". The tree must pass check.
std::string print(const ContractionTree& tree, const std::vector<std::string>& names);

/// Reads what print writes. A name that occurs several times among the factors stands for its occurrences in the order
/// of the expression, "K.2" for the second. Parentheses around the whole, or around one factor, mean nothing. Input
/// errors, with a picture, name what is missing, unknown or used too often.
Expected<ContractionTree> parse_tree(const std::string& text, const std::vector<std::string>& names);

/// The same tree with children ordered by their smallest factor, nodes in post-order: trees that contract the same have
/// equal canonical forms. The tree must pass check.
ContractionTree canonical(const ContractionTree& tree);

}  // namespace weft
