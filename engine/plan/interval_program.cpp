#include "engine/plan/interval_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// 0 iterations of something impossible are still impossible.
double times(double count, double ns) { return std::isinf(ns) ? ns : count * ns; }

}  // namespace

std::size_t IntervalProgram::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = key.bound * 0x9E3779B97F4A7C15 + (std::uint64_t{key.first} << 32 | key.last);
  hash ^= hash >> 29;
  hash *= 0xBF58476D1CE4E5B9;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

// Statements with many indices have too many subsets: the width of the search shrinks so that its cost stays bounded.
std::vector<IndexId> IntervalProgram::candidates(IndexSet bound, std::uint32_t first) {
  const IndexSet unbound = model_.indices(first) & ~bound;
  std::vector<IndexId> indices = members(unbound);
  const int width = std::popcount(model_.indices(first));
  if (width <= widest_exact) return indices;
  const std::size_t tried = width <= 12 ? 3 : width <= 16 ? 2 : 1;
  if (indices.size() <= tried) return indices;
  exact_ = false;
  std::vector<std::pair<double, IndexId>> ranked;
  for (const IndexId index : indices) {
    ranked.emplace_back(model_.loop(bound, index, {first, first}).iterations, index);
    ++work_;
  }
  std::sort(ranked.begin(), ranked.end());
  indices.clear();
  for (std::size_t number = 0; number < tried; ++number) indices.push_back(ranked[number].second);
  return indices;
}

IntervalProgram::Choice IntervalProgram::choose(IndexSet bound, std::uint32_t first, std::uint32_t last) {
  const bool root = bound == 0;
  if ((model_.indices(first) & ~bound) == 0) {
    // Its body ran in the loop that bound its last index; without any loop it runs here.
    double ns = root ? model_.scalar_body(first) : 0;
    if (first < last) ns += model_.crossing(bound, {first, first}, last) + best(bound, first + 1, last);
    return {ns, 0, first, true};
  }
  Choice cheapest{infinity, 0, first, false};
  for (const IndexId index : candidates(bound, first)) {
    const std::uint32_t furthest = fused_ ? last : first;
    for (std::uint32_t end = first; end <= furthest && contains(model_.indices(end) & ~bound, index); ++end) {
      const StatementRange range{first, end};
      if (root && !model_.may_share_nest(range)) continue;
      const LoopEstimate loop = model_.loop(bound, index, range);
      ++work_;
      double ns = loop.ns;
      if (end < last) ns += model_.crossing(bound, range, last);
      if (ns >= cheapest.ns && !root) continue;
      const double inside = times(loop.iterations, best(bound | one_index(index), first, end));
      if (root) {
        ns += model_.root(index, range, loop.iterations, loop.ns + inside).ns - loop.ns;
      } else {
        ns += inside;
      }
      if (ns >= cheapest.ns) continue;
      if (end < last) ns += best(bound, end + 1, last);
      if (ns < cheapest.ns) cheapest = {ns, index, end, false};
    }
  }
  return cheapest;
}

double IntervalProgram::best(IndexSet bound, std::uint32_t first, std::uint32_t last) {
  const Key key{bound, first, last};
  if (const auto found = known_.find(key); found != known_.end()) return found->second.ns;
  const Choice choice = choose(bound, first, last);
  known_.emplace(key, choice);
  return choice.ns;
}

void IntervalProgram::read(IndexSet bound, std::uint32_t first, std::uint32_t last, std::vector<IndexId>& path,
                           Nests& nests) const {
  const Choice& choice = known_.at({bound, first, last});
  if (choice.body) {
    nests.loops[first] = path;
  } else {
    path.push_back(choice.index);
    read(bound | one_index(choice.index), first, choice.end, path, nests);
    path.pop_back();
  }
  if (choice.end == last) return;
  nests.fused[choice.end + 1] = static_cast<std::uint32_t>(path.size());
  read(bound, choice.end + 1, last, path, nests);
}

std::optional<IntervalProgram::Nests> IntervalProgram::solve() {
  const auto count = static_cast<std::uint32_t>(model_.statements());
  Nests nests;
  nests.ns = best(0, 0, count - 1);
  if (std::isinf(nests.ns) || std::isnan(nests.ns)) return std::nullopt;
  nests.exact = exact_;
  nests.loops.resize(count);
  nests.fused.assign(count, 0);
  std::vector<IndexId> path;
  read(0, 0, count - 1, path, nests);
  return nests;
}

}  // namespace weft
