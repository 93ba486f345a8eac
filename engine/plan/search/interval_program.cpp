#include "engine/plan/search/interval_program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace weft {
namespace {

constexpr double sum_rounding = 1e-9;  // relative: more than sums in another order differ
constexpr double asked_again = 8;  // times the limit before, so that no state is looked at many times

}  // namespace

IntervalProgram::IntervalProgram(const CostModel& model, bool fused, IntervalTable* shared, const std::vector<std::uint32_t>& numbers)
    : model_(model),
      fused_(fused),
      count_(static_cast<std::uint32_t>(model.statements())),
      own_(shared == nullptr ? std::make_unique<IntervalTable>() : nullptr),
      table_(shared == nullptr ? *own_ : *shared),
      intervals_(std::size_t{count_} * count_, 0) {
  for (std::uint32_t first = 0; first < count_; ++first) {
    std::uint32_t number = 0;
    for (std::uint32_t last = first; last < count_; ++last) {
      number = table_.interval(number, shared == nullptr ? last : numbers[last]);
      intervals_[first * count_ + last] = number;
    }
    exact_ = exact_ && std::popcount(model.indices(first)) <= widest_exact;
  }
}

// Statements with many indices have too many subsets: the width of the search shrinks so that its cost stays bounded.
IndexSet IntervalProgram::candidates(const NestState& state) {
  const IndexSet unbound = model_.indices(state.first) & ~state.outside.indices;
  const bool full = is_full();
  if (full) exact_ = false;
  if (exact_) return unbound;
  const int width = std::popcount(model_.indices(state.first));
  if (width <= widest_exact && !full) return unbound;
  const std::size_t tried = full ? 1 : width <= 12 ? 3 : width <= 16 ? 2 : 1;
  if (std::popcount(unbound) <= static_cast<int>(tried)) return unbound;
  std::vector<std::pair<double, IndexId>> ranked;
  for (const IndexId index : members(unbound)) {
    ranked.emplace_back(loop(state, index, state.first, state.others).iterations, index);
  }
  std::sort(ranked.begin(), ranked.end());
  IndexSet chosen = 0;
  for (std::size_t number = 0; number < tried; ++number) chosen |= one_index(ranked[number].second);
  return chosen;
}

LoopPrice IntervalProgram::loop(const NestState& state, IndexId index, std::uint32_t end, JoinSet others) {
  const IndexSet bound = state.outside.indices;
  const StatementRange group{state.first, end};
  const auto priced = [&] {
    ++work_;
    LoopPrice price = model_.price(state.outside, index, group, others);
    if (model_.drives_copy(state.outside, index, group, others)) price.ns = infinity;
    return price;
  };
  if (LoopPrice* alone = group.first == end && others == 0 ? model_.alone(state.outside, index, end) : nullptr) {
    if (alone->ns < 0) *alone = priced();
    return *alone;
  }
  const std::uint32_t number = IntervalTable::loop_number(interval(state.first, end, state.outside, others), index);
  if (const LoopPrice* known = table_.loops.find(bound, number)) return *known;
  const LoopPrice price = priced();
  table_.loops.insert(bound, number, price);
  return price;
}

// The body of the first statement ran in the loop that bound its last index; without any loop it runs here.
IntervalProgram::Choice IntervalProgram::body(const NestState& state, double limit) {
  const StatementRange alone{state.first, state.first};
  double ns = state.outside.root() ? model_.scalar_body(state.first) : 0;
  if (state.first < state.last) {
    const IndexSet shared = state.outside.indices;
    ns = model_.may_materialise(shared, alone, state.last) ? ns + model_.materialising_ns(shared, alone, state.last) : infinity;
    ns = ns < limit ? ns + best(behind(model_, state, alone), limit - ns) : infinity;
  }
  if (ns < limit || std::isinf(limit)) return {ns, 0, 0, true, true};
  return {limit, 0, 0, true, false};
}

IntervalProgram::Choice IntervalProgram::choose(const NestState& state, double limit) {
  if (state.complete(model_)) return body(state, limit);
  const bool root = state.outside.root();
  Choice cheapest{limit, 0, 0, false, std::isinf(limit)};
  // The same whichever index comes next.
  std::array<double, 8> materialised;
  materialised.fill(-1);
  const auto priced = [&](StatementRange group) {
    const bool may = model_.may_materialise(state.outside.indices, group, state.last);
    return may ? model_.materialising_ns(state.outside.indices, group, state.last) : infinity;
  };
  const auto materialising = [&](StatementRange group) {
    if (group.last == state.last) return 0.0;
    const std::size_t length = group.last - group.first;
    if (length >= materialised.size()) return priced(group);
    if (materialised[length] < 0) materialised[length] = priced(group);
    return materialised[length];
  };
  each_step(model_, state, candidates(state), fused_, [&](IndexId index, StatementRange group) {
    double ns = materialising(group);
    if (ns >= cheapest.ns) return;
    const NestState below = inside(model_, state, index, group);
    const LoopPrice loop = this->loop(state, index, below.last, below.others);
    const double drained = model_.departs(state.outside, index, group) ? model_.drain(state.outside, index, group).ns : 0;
    const double here = loop.ns + drained;
    if (!root && ns + here >= cheapest.ns) return;
    // All threads may share the loops of a root.
    const double left = (root ? cheapest.ns * model_.threads() : cheapest.ns - ns) - here;
    if (!(left > 0)) return;
    const double enough = loop.iterations > 0 ? left / loop.iterations * (1 + sum_rounding) : infinity;
    const double work = here + times(loop.iterations, best(below, enough));
    ns += root && !std::isinf(work) ? model_.root(index, group, loop.iterations, work).ns : work;
    if (ns >= cheapest.ns) return;
    if (group.last < state.last) ns += best(behind(model_, state, group), (cheapest.ns - ns) * (1 + sum_rounding));
    if (ns < cheapest.ns) {
      cheapest = {ns, static_cast<std::uint16_t>(group.last - group.first), static_cast<std::uint8_t>(index), false, true};
    }
  });
  return cheapest;
}

double IntervalProgram::best(const NestState& state, double limit) {
  const IndexSet bound = state.outside.indices;
  const std::uint32_t number = interval(state.first, state.last, state.outside, state.others);
  const Choice* found = table_.choices.find(bound, number);
  if (found != nullptr) {
    if (found->known) return found->ns;
    if (found->ns >= limit) return infinity;
    limit = std::max(limit, asked_again * found->ns);
  }
  const Choice choice = choose(state, limit);
  // No state needs itself, but others were added.
  if (found != nullptr) *table_.choices.find(bound, number) = choice;
  else table_.choices.insert(bound, number, choice);
  return choice.known ? choice.ns : infinity;
}

void IntervalProgram::read(const NestState& state, std::vector<IndexId>& path, Nests& nests) {
  const Choice choice = *table_.choices.find(state.outside.indices, interval(state.first, state.last, state.outside, state.others));
  const StatementRange group{state.first, state.first + choice.length};
  if (choice.body) {
    nests.loops[state.first] = path;
  } else {
    path.push_back(choice.index);
    read(inside(model_, state, choice.index, group), path, nests);
    path.pop_back();
  }
  if (group.last == state.last) return;
  nests.fused[group.last + 1] = static_cast<std::uint32_t>(path.size());
  read(behind(model_, state, group), path, nests);
}

std::optional<IntervalProgram::Nests> IntervalProgram::solve(double limit) {
  const auto count = static_cast<std::uint32_t>(model_.statements());
  Nests nests;
  // What it finds in a full table may not be the least either.
  if (is_full()) exact_ = false;
  const NestState all{{}, 0, count - 1, 0};
  nests.ns = best(all, limit);
  if (std::isinf(nests.ns) || !(nests.ns < limit)) return std::nullopt;
  nests.exact = exact_;
  nests.loops.resize(count);
  nests.fused.assign(count, 0);
  std::vector<IndexId> path;
  read(all, path, nests);
  return nests;
}

}  // namespace weft
