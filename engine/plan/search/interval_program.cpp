#include "engine/plan/search/interval_program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr double rounding = 1e-9;  // relative: more than sums in another order differ
constexpr double asked_again = 8;  // times the limit before, so that no state is looked at many times

}  // namespace

IntervalProgram::IntervalProgram(const CostModel& model, bool fused)
    : model_(model),
      fused_(fused),
      count_(static_cast<std::uint32_t>(model.statements())),
      own_(std::make_unique<IntervalTable>()),
      table_(*own_) {
  for (std::uint32_t first = 0; first < count_; ++first) {
    std::uint32_t number = 0;
    for (std::uint32_t last = 0; last < count_; ++last) {
      number = last < first ? 0 : table_.interval(number, last);
      intervals_.push_back(number);
    }
    exact_ = exact_ && std::popcount(model.indices(first)) <= widest_exact;
  }
}

IntervalProgram::IntervalProgram(const CostModel& model, bool fused, IntervalTable& table,
                                 const std::vector<std::uint32_t>& statements)
    : model_(model), fused_(fused), count_(static_cast<std::uint32_t>(model.statements())), table_(table) {
  intervals_.assign(std::size_t{count_} * count_, 0);
  for (std::uint32_t first = 0; first < count_; ++first) {
    std::uint32_t number = 0;
    for (std::uint32_t last = first; last < count_; ++last) {
      number = table.interval(number, statements[last]);
      intervals_[first * count_ + last] = number;
    }
    exact_ = exact_ && std::popcount(model.indices(first)) <= widest_exact;
  }
}

// Statements with many indices have too many subsets: the width of the search shrinks so that its cost stays bounded.
IndexSet IntervalProgram::candidates(IndexSet bound, std::uint32_t first, JoinSet others) {
  const IndexSet unbound = model_.indices(first) & ~bound;
  const bool full = is_full();
  if (full) exact_ = false;
  if (exact_) return unbound;
  const int width = std::popcount(model_.indices(first));
  if (width <= widest_exact && !full) return unbound;
  const std::size_t tried = full ? 1 : width <= 12 ? 3 : width <= 16 ? 2 : 1;
  if (std::popcount(unbound) <= static_cast<int>(tried)) return unbound;
  std::vector<std::pair<double, IndexId>> ranked;
  for (const IndexId index : members(unbound)) ranked.emplace_back(loop(bound, index, first, first, others).iterations, index);
  std::sort(ranked.begin(), ranked.end());
  IndexSet chosen = 0;
  for (std::size_t number = 0; number < tried; ++number) chosen |= one_index(ranked[number].second);
  return chosen;
}

LoopPrice IntervalProgram::loop(IndexSet bound, IndexId index, std::uint32_t first, std::uint32_t end, JoinSet others) {
  if (LoopPrice* alone = first == end && others == 0 ? model_.alone(bound, index, first) : nullptr) {
    if (alone->ns < 0) {
      *alone = model_.price(bound, index, {first, end}, 0);
      ++work_;
    }
    return *alone;
  }
  const std::uint32_t number = IntervalTable::loop_number(interval(first, end, others), index);
  if (const LoopPrice* known = table_.loops.find(bound, number)) return *known;
  const LoopPrice price = model_.price(bound, index, {first, end}, others);
  ++work_;
  table_.loops.insert(bound, number, price);
  return price;
}

JoinSet IntervalProgram::inside(JoinSet others, IndexSet bound, StatementRange group, std::size_t last) const {
  if (bound == 0 || !model_.joined()) return 0;
  if (group.last < last) others |= model_.filters(bound, {group.last + 1, last});
  return model_.meeting(others, group);
}

JoinSet IntervalProgram::after(JoinSet others, IndexSet bound, StatementRange group, std::size_t last) const {
  if (bound == 0 || group.last == last || !model_.joined()) return 0;
  return model_.meeting(others | model_.filters(bound, group), {group.last + 1, last});
}

IntervalProgram::Choice IntervalProgram::choose(IndexSet bound, std::uint32_t first, std::uint32_t last, JoinSet others,
                                                double limit) {
  const bool root = bound == 0;
  if ((model_.indices(first) & ~bound) == 0) {
    // Its body ran in the loop that bound its last index; without any loop it runs here.
    double ns = root ? model_.scalar_body(first) : 0;
    if (first < last) {
      ns += model_.crossing(bound, {first, first}, last);
      ns = ns < limit ? ns + best(bound, first + 1, last, after(others, bound, {first, first}, last), limit - ns) : infinity;
    }
    if (ns < limit || std::isinf(limit)) return {ns, 0, 0, true, true};
    return {limit, 0, 0, true, false};
  }
  Choice cheapest{limit, 0, 0, false, std::isinf(limit)};
  // The same whichever index comes next.
  std::array<double, 8> crossings;
  crossings.fill(-1);
  const auto crossing = [&](StatementRange range) {
    if (range.last == last) return 0.0;
    const std::size_t length = range.last - range.first;
    if (length >= crossings.size()) return model_.crossing(bound, range, last);
    if (crossings[length] < 0) crossings[length] = model_.crossing(bound, range, last);
    return crossings[length];
  };
  for (IndexSet open = candidates(bound, first, others); open != 0; open &= open - 1) {
    const auto index = static_cast<IndexId>(std::countr_zero(open));
    const std::uint32_t furthest = fused_ ? last : first;
    for (std::uint32_t end = first; end <= furthest && contains(model_.indices(end) & ~bound, index); ++end) {
      const StatementRange range{first, end};
      if (root && (!model_.may_share_nest(range) || model_.stores_copy(range))) continue;
      if (!model_.keeps_order(bound, index, range)) continue;
      double ns = crossing(range);
      if (ns >= cheapest.ns) continue;
      const JoinSet others_inside = inside(others, bound, range, last);
      const LoopPrice loop = this->loop(bound, index, first, end, others_inside);
      const double drained = model_.departs(bound, index, range) ? model_.drain(bound, index, range).ns : 0;
      const double here = loop.ns + drained;
      if (!root && ns + here >= cheapest.ns) continue;
      // All threads may share the loops of a root.
      const double left = (root ? cheapest.ns * model_.threads() : cheapest.ns - ns) - here;
      if (!(left > 0)) continue;
      const double enough = loop.iterations > 0 ? left / loop.iterations * (1 + rounding) : infinity;
      const double below = times(loop.iterations, best(model_.inside(bound, index, range), first, end, others_inside, enough));
      ns += root ? model_.root(index, range, loop.iterations, here + below).ns : here + below;
      if (ns >= cheapest.ns) continue;
      if (end < last) {
        ns += best(bound, end + 1, last, after(others, bound, range, last), (cheapest.ns - ns) * (1 + rounding));
      }
      if (ns < cheapest.ns) {
        cheapest = {ns, static_cast<std::uint16_t>(end - first), static_cast<std::uint8_t>(index), false, true};
      }
    }
  }
  return cheapest;
}

double IntervalProgram::best(IndexSet bound, std::uint32_t first, std::uint32_t last, JoinSet others, double limit) {
  const std::uint32_t number = interval(first, last, others);
  const Choice* found = table_.choices.find(bound, number);
  if (found != nullptr) {
    if (found->known) return found->ns;
    if (found->ns >= limit) return infinity;
    limit = std::max(limit, asked_again * found->ns);
  }
  const Choice choice = choose(bound, first, last, others, limit);
  // No state needs itself, but others were added.
  if (found != nullptr) *table_.choices.find(bound, number) = choice;
  else table_.choices.insert(bound, number, choice);
  return choice.known ? choice.ns : infinity;
}

void IntervalProgram::read(IndexSet bound, std::uint32_t first, std::uint32_t last, JoinSet others,
                           std::vector<IndexId>& path, Nests& nests) {
  const Choice choice = *table_.choices.find(bound, interval(first, last, others));
  const std::uint32_t end = first + choice.length;
  const StatementRange group{first, end};
  if (choice.body) {
    nests.loops[first] = path;
  } else {
    path.push_back(choice.index);
    read(model_.inside(bound, choice.index, group), first, end, inside(others, bound, group, last), path, nests);
    path.pop_back();
  }
  if (end == last) return;
  nests.fused[end + 1] = static_cast<std::uint32_t>(path.size());
  read(bound, end + 1, last, after(others, bound, group, last), path, nests);
}

std::optional<IntervalProgram::Nests> IntervalProgram::solve(double limit) {
  const auto count = static_cast<std::uint32_t>(model_.statements());
  Nests nests;
  // What it finds in a full table may not be the least either.
  if (is_full()) exact_ = false;
  nests.ns = best(0, 0, count - 1, 0, limit);
  if (std::isinf(nests.ns) || !(nests.ns < limit)) return std::nullopt;
  nests.exact = exact_;
  nests.loops.resize(count);
  nests.fused.assign(count, 0);
  std::vector<IndexId> path;
  read(0, 0, count - 1, 0, path, nests);
  return nests;
}

}  // namespace weft
