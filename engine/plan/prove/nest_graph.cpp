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
    const NestState root{{}, 0, static_cast<std::uint32_t>(model_.statements() - 1), 0};
    graph_.least = program_.least(root);
    if (graph_.least >= below_ || std::isnan(graph_.least)) return std::move(graph_);
    state_of(root, 1, 0);
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
  using Key = std::tuple<int, std::uint32_t, IndexSet, bool, Batch, std::uint32_t, JoinSet, double>;

  std::uint32_t state_of(const NestState& state, double entries, double outside) {
    const IndexSet bound = state.outside.indices;
    const bool gathers = state.outside.gathers;
    const Batch batch = state.outside.batch_of(state.last);
    const Key key{std::popcount(bound) + gathers, state.first, bound, gathers, batch, state.last, state.others, rounded(entries)};
    const auto [found, added] = open_.try_emplace(key, static_cast<std::uint32_t>(graph_.states.size()));
    if (added) {
      graph_.states.push_back({state, entries, {}});
      outside_.push_back(outside);
    }
    outside_[found->second] = std::min(outside_[found->second], outside);
    return found->second;
  }

  void expand(std::uint32_t number) {
    const NestGraph::State state = graph_.states[number];
    if (state.complete(model_)) {
      const double ns = state.outside.root() ? model_.scalar_body(state.first) : 0;
      add(number, {number, 0, state.first, true, RootReduction::serial, ns, {}, {}}, 0);
      return;
    }
    const IndexSet unbound = model_.indices(state.first) & ~state.outside.indices;
    each_step(model_, state, unbound, program_.fused(), [&](IndexId index, StatementRange group) { add_loop(number, index, group); });
  }

  void add_loop(std::uint32_t number, IndexId index, StatementRange group) {
    const NestGraph::State state = graph_.states[number];
    const auto end = static_cast<std::uint32_t>(group.last);
    const LoopEstimate loop = model_.loop(state.outside, index, group, inside(model_, state, index, group).others);
    if (loop.drives_copy) return;
    const double here = loop.ns + model_.drain(state.outside, index, group).ns;
    if (!state.outside.root()) {
      add(number, {number, index, end, false, RootReduction::serial, state.entries * here, {}, {}}, state.entries * loop.iterations);
      return;
    }
    const auto add_root = [&](RootReduction reduction) {
      const double start = model_.root(index, group, loop.iterations, 0, &reduction).ns;
      const double share = model_.root(index, group, loop.iterations, 1, &reduction).ns - start;
      add(number, {number, index, end, false, reduction, start + share * here, {}, {}}, share * loop.iterations);
    };
    add_root(RootReduction::serial);
    // However long it takes: whether threads may share it at all.
    constexpr double long_work = 1e30;
    const RootReduction parallel = model_.root(index, group, loop.iterations, long_work).reduction;
    if (parallel != RootReduction::serial) add_root(parallel);
  }

  // Keeps an option if a forest below the bound may have it; `entries` into the loops below its own.
  void add(std::uint32_t number, NestGraph::Option option, double entries) {
    const NestGraph::State state = graph_.states[number];
    const StatementRange group{state.first, option.end};
    const bool more = option.end < state.last;
    if (more) {
      if (!model_.may_materialise(state.outside.indices, group, state.last)) return;
      option.ns += state.entries * model_.materialising_ns(state.outside.indices, group, state.last);
    }
    double whole = outside_[number] + option.ns;
    if (!(whole < below_)) return;
    const NestState below = option.body ? NestState{} : inside(model_, state, option.index, group);
    const bool deeper = !option.body && (option.end > state.first || !below.complete(model_));
    const NestState rest = more ? behind(model_, state, group) : NestState{};
    const double inside_ns = deeper ? times(entries, program_.least(below)) : 0;
    const double after_ns = more ? times(state.entries, program_.least(rest)) : 0;
    whole += inside_ns + after_ns;
    if (!(whole < below_)) return;
    if (deeper) option.inside = state_of(below, entries, whole - inside_ns);
    if (more) option.after = state_of(rest, state.entries, whole - after_ns);
    graph_.states[number].options.push_back(static_cast<std::uint32_t>(graph_.options.size()));
    graph_.options.push_back(option);
  }

  const CostModel& model_;
  IntervalProgram& program_;
  double below_;
  std::size_t most_;
  NestGraph graph_;
  std::vector<double> outside_;  // the cheapest forest with this state, without the loops below it
  std::map<Key, std::uint32_t> open_;
};

}  // namespace

NestGraph nest_graph(const CostModel& model, IntervalProgram& program, double below, std::size_t most) {
  return Builder(model, program, below, most).build();
}

}  // namespace weft
