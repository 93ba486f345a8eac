#include "engine/plan/search/frontier.h"

#include <algorithm>

namespace weft {

std::size_t Frontier::looks_at(const ContractionTree& tree) {
  trees_.push_back(tree);
  return trees_.size() - 1;
}

bool Frontier::all_trees() const {
  return std::ranges::none_of(left_out_, [](const LeftOut& left) { return left.scope == Scope::other_trees; });
}

Optimal Frontier::claim(double best_ns, const ContractionTree& chosen, bool beyond) const {
  const auto place = static_cast<std::size_t>(std::ranges::find(trees_, chosen) - trees_.begin());
  bool all = true;
  bool own = place < trees_.size();
  for (const LeftOut& left : left_out_) {
    if (left.least_ns >= best_ns) continue;
    if (left.scope == Scope::any_tree) return Optimal::none;
    all = false;
    if (left.scope == Scope::tree && left.tree == place) own = false;
  }
  if (all && (own || beyond)) return Optimal::all;
  return own ? Optimal::tree : Optimal::none;
}

std::optional<Why> Frontier::why_not(double best_ns) const {
  std::optional<Why> first;
  for (const LeftOut& left : left_out_) {
    if (left.least_ns < best_ns && (!first || left.why < *first)) first = left.why;
  }
  return first;
}

}  // namespace weft
