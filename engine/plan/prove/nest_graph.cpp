#include "engine/plan/prove/nest_graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace weft {
namespace {

// Products of the same figures in another order are the same number of entries.
double rounded(double entries) {
  int exponent = 0;
  const double mantissa = std::frexp(entries, &exponent);
  return std::ldexp(std::round(std::ldexp(mantissa, 40)), exponent - 40);
}

class Builder {
 public:
  Builder(const CostModel& model, IntervalProgram& program, double below, std::size_t most)
      : model_(model), program_(program), below_(below), most_(most) {}

  // States in an order in which every one comes after all that lead to it: by size of the set, then by statement. What
  // leads to a state most cheaply is then known when its options are looked at.
  NestGraph build() {
    const auto last = static_cast<std::uint32_t>(model_.statements() - 1);
    graph_.least = program_.least(0, 0, last);
    if (graph_.least >= below_ || std::isnan(graph_.least)) return std::move(graph_);
    state_of(0, 0, last, 0, 1, 0);
    while (!open_.empty()) {
      const std::uint32_t state = open_.begin()->second;
      open_.erase(open_.begin());
      expand(state);
      if (graph_.options.size() > most_) {
        graph_.complete = false;
        break;
      }
    }
    return std::move(graph_);
  }

 private:
  using Key = std::tuple<int, std::uint32_t, IndexSet, std::uint32_t, JoinSet, double>;

  std::uint32_t state_of(IndexSet bound, std::uint32_t first, std::uint32_t last, JoinSet others, double entries,
                         double outside) {
    const Key key{std::popcount(bound), first, bound, last, others, rounded(entries)};
    const auto [found, added] = open_.try_emplace(key, static_cast<std::uint32_t>(graph_.states.size()));
    if (added) {
      graph_.states.push_back({bound, first, last, others, entries, {}});
      outside_.push_back(outside);
    }
    outside_[found->second] = std::min(outside_[found->second], outside);
    return found->second;
  }

  void expand(std::uint32_t number) {
    const NestGraph::State state = graph_.states[number];
    if ((model_.indices(state.first) & ~state.bound) == 0) {
      const double ns = state.bound == 0 ? model_.scalar_body(state.first) : 0;
      add(number, {number, 0, state.first, true, RootReduction::serial, ns, {}, {}}, 0);
      return;
    }
    for (const IndexId index : members(model_.indices(state.first) & ~state.bound)) {
      for (std::uint32_t end = state.first; end <= state.last; ++end) {
        if (!contains(model_.indices(end) & ~state.bound, index) || (end > state.first && !program_.fused())) break;
        const StatementRange range{state.first, end};
        if (state.bound == 0 && !model_.may_share_nest(range)) continue;
        if (!model_.keeps_order(state.bound, index, range)) continue;
        const LoopEstimate loop = model_.loop(state.bound, index, range, program_.inside(state.others, state.bound, range, state.last));
        const double drained = model_.drain(state.bound, index, range).ns;
        const auto add_root = [&](RootReduction reduction) {
          const double start = model_.root(index, range, loop.iterations, 0, &reduction).ns;
          const double share = model_.root(index, range, loop.iterations, 1, &reduction).ns - start;
          add(number, {number, index, end, false, reduction, start + share * (loop.ns + drained), {}, {}}, share * loop.iterations);
        };
        if (state.bound != 0) {
          add(number, {number, index, end, false, RootReduction::serial, state.entries * (loop.ns + drained), {}, {}},
              state.entries * loop.iterations);
          continue;
        }
        add_root(RootReduction::serial);
        // However long it takes: whether threads may share it at all.
        constexpr double long_work = 1e30;
        const RootReduction parallel = model_.root(index, range, loop.iterations, long_work).reduction;
        if (parallel != RootReduction::serial) add_root(parallel);
      }
    }
  }

  // Keeps an option if a forest below the bound may have it; `entries` into what is below its loop.
  void add(std::uint32_t number, NestGraph::Option option, double entries) {
    const NestGraph::State state = graph_.states[number];
    const StatementRange range{state.first, option.end};
    if (option.end < state.last) option.ns += times(state.entries, model_.crossing(state.bound, range, state.last));
    double whole = outside_[number] + option.ns;
    if (!(whole < below_)) return;
    const IndexSet inner = option.body ? 0 : model_.inside(state.bound, option.index, range);
    const bool deeper =
        !option.body && (option.end > state.first || (model_.indices(state.first) & ~inner) != 0);
    const JoinSet others_inside = program_.inside(state.others, state.bound, range, state.last);
    const JoinSet others_after = program_.after(state.others, state.bound, range, state.last);
    const double inside = deeper ? times(entries, program_.least(inner, state.first, option.end, others_inside)) : 0;
    const double after = option.end < state.last
                             ? times(state.entries, program_.least(state.bound, option.end + 1, state.last, others_after))
                             : 0;
    whole += inside + after;
    if (!(whole < below_)) return;
    if (deeper) option.inside = state_of(inner, state.first, option.end, others_inside, entries, whole - inside);
    if (option.end < state.last) {
      option.after = state_of(state.bound, option.end + 1, state.last, others_after, state.entries, whole - after);
    }
    graph_.states[number].options.push_back(static_cast<std::uint32_t>(graph_.options.size()));
    graph_.options.push_back(option);
  }

  const CostModel& model_;
  IntervalProgram& program_;
  double below_;
  std::size_t most_;
  NestGraph graph_;
  std::vector<double> outside_;  // the cheapest forest with this state, without what is below it
  std::map<Key, std::uint32_t> open_;
};

}  // namespace

NestGraph nest_graph(const CostModel& model, IntervalProgram& program, double below, std::size_t most) {
  return Builder(model, program, below, most).build();
}

}  // namespace weft
