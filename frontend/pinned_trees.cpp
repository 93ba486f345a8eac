#include "frontend/pinned_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "engine/network/inlining.h"
#include "engine/text/error_at.h"
#include "engine/text/trimmed.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/schedule_text.h"
#include "frontend/token.h"

namespace weft {
namespace {

struct TreeText {
  std::string name;  // of the assignment; empty if the text does not say
  std::string tree;
  std::size_t begin = 0;  // of the tree, in the whole text
};

std::vector<TreeText> trees_of(const std::string& text) {
  std::vector<TreeText> pieces;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(";\n", begin), text.size());
    const std::string_view piece = trimmed(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (piece.empty()) continue;
    const std::size_t equals = piece.find('=');
    const bool is_named = equals != std::string::npos;
    const std::string_view name = is_named ? trimmed(piece.substr(0, equals)) : std::string_view();
    const std::string_view tree = is_named ? trimmed(piece.substr(equals + 1)) : piece;
    pieces.push_back({std::string(name), std::string(tree), static_cast<std::size_t>(tree.data() - text.data())});
  }
  return pieces;
}

const std::string& name_of(const Network& network, const Assignment& assignment) {
  return network.tensors[assignment.result.tensor].name;
}

// Unnamed trees are those of all assignments, or of the last.
Expected<std::vector<TreeText>> named(const Network& network, std::vector<TreeText> pieces) {
  const auto is_named = [](const TreeText& piece) { return !piece.name.empty(); };
  if (std::all_of(pieces.begin(), pieces.end(), is_named) && !pieces.empty()) return pieces;
  const std::size_t assignments = network.assignments.size();
  if (std::any_of(pieces.begin(), pieces.end(), is_named) || (pieces.size() != assignments && pieces.size() != 1)) {
    return option_error("tree", fmt::format("{} tree{} for {} assignment{}: give one for each, separated by ';', or NAME = TREE "
                                   "for those with a tree of their own: the others are written into what reads them",
                                   pieces.size(), pieces.size() == 1 ? "" : "s", assignments, assignments == 1 ? "" : "s"));
  }
  for (std::size_t number = 0; number < pieces.size(); ++number) {
    pieces[number].name = name_of(network, network.assignments[assignments - pieces.size() + number]);
  }
  return pieces;
}

std::string repeated_name(const std::vector<TreeText>& pieces) {
  std::set<std::string> seen;
  for (const TreeText& piece : pieces) {
    if (!seen.insert(piece.name).second) return piece.name;
  }
  return {};
}

}  // namespace

Expected<Network> with_pinned_trees(const Network& network, const std::string& text, const PlanOptions& options) {
  const auto pieces = named(network, trees_of(text));
  if (!pieces) return std::unexpected(pieces.error());
  const auto tree_of = [&](const std::string& name) {
    return std::find_if(pieces->begin(), pieces->end(), [&](const TreeText& piece) { return piece.name == name; });
  };
  std::vector<TensorId> dropped;
  for (const Assignment& assignment : network.assignments) {
    const std::string& name = name_of(network, assignment);
    if (tree_of(name) != pieces->end()) continue;
    if (is_wanted(name, network, options)) {
      return option_error("tree", fmt::format("there is no tree for the result {}: give one per assignment, separated by ';'", name));
    }
    dropped.push_back(assignment.result.tensor);
  }
  Network pinned = inlined(network, dropped);
  if (pieces->size() != pinned.assignments.size()) {
    for (const TreeText& piece : *pieces) {
      const bool known = std::any_of(pinned.assignments.begin(), pinned.assignments.end(),
                                     [&](const Assignment& one) { return name_of(pinned, one) == piece.name; });
      if (!known) return option_error("tree", fmt::format("a tree names {}, which the expression does not assign", piece.name));
    }
    return option_error("tree", fmt::format("there are two trees of {}", repeated_name(*pieces)));
  }
  for (std::size_t number = 0; number < pinned.assignments.size(); ++number) {
    Term& term = pinned.assignments[number].terms.front();
    const TreeText& piece = *tree_of(name_of(pinned, pinned.assignments[number]));
    auto tree = parse_tree(piece.tree, factor_names(pinned, number));
    if (!tree) {
      Error& error = tree.error();
      error.option = "tree";
      if (error.position) error.position = position_at(text, piece.begin + error.position->offset);
      if (network.assignments.size() > 1) error.message += fmt::format("\nin the tree of {}", piece.name);
      return std::unexpected(std::move(error));
    }
    term.pinned = std::move(*tree);
    term.open = false;
  }
  return pinned;
}

}  // namespace weft
