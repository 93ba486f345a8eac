// The text of --tree: contraction trees that replace the planner's choice.
#pragma once

#include <string>

#include "engine/plan/plan.h"

namespace weft {

/// The network with the trees of the text pinned: one tree per assignment, in order, separated by ';'; or
/// "NAME = TREE" for those with a tree of their own, the others being written into what reads them; or one tree alone, that of the
/// last assignment with all others written into it. What a report calls the tree of a plan is such a text. Input errors:
/// defects of a tree, an unknown name, two trees of one name, the last assignment or a wanted result without a tree.
/// Trees with names may stand in any order.
Expected<Network> with_pinned_trees(const Network& network, const std::string& text, const PlanOptions& options);

}  // namespace weft
