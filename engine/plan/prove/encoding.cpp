#include "engine/plan/prove/encoding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/forest.h"

namespace weft {
namespace {

// Sums of weights stay below what Z3 takes.
constexpr double most_units = 0x1p29;
constexpr double units_in_bound = 0x1p20;
constexpr double smallest_unit = 1e-9;  // where the bound is 0

// Weights of what counts against a bound, rounded down together: at least so fine that the bound has `units_in_bound`,
// unless their sum would be too large.
struct Weights {
  std::vector<Weighted> parts;
  std::int64_t bound = 0;
  std::int64_t total = 0;
};
Weights weights(const std::vector<std::pair<Literal, double>>& sizes, double bound) {
  double total = bound;
  for (const auto& [literal, size] : sizes) total += std::min(size, bound);
  const double unit = std::max({bound / units_in_bound, total / most_units, smallest_unit});
  Weights weighed;
  weighed.bound = static_cast<std::int64_t>(std::ceil(bound / unit));
  for (const auto& [literal, size] : sizes) {
    const double units = std::floor(size / unit);
    const std::int64_t weight = size > bound ? weighed.bound + 1 : static_cast<std::int64_t>(units);
    if (weight == 0) continue;
    weighed.parts.push_back({literal, weight});
    weighed.total += weight;
  }
  return weighed;
}

}  // namespace

std::set<TensorId> shared_operands(const Problem& problem) {
  std::set<TensorId> shared;
  for (const OperandFacts& facts : problem.operands) {
    if (readers_of(problem.network, facts.tensor) > 1 && may_be_converted(facts)) shared.insert(facts.tensor);
  }
  return shared;
}

Encoding::Encoding(Solver& solver, const Problem& problem, std::uint64_t memory_limit)
    : solver_(solver), problem_(problem), memory_limit_(memory_limit), left_(static_cast<double>(memory_limit)),
      shared_(shared_operands(problem)) {
  for (const OperandFacts& operand : problem.operands) left_ -= static_cast<double>(operand.allocated_bytes());
  const std::vector<Assignment>& assignments = problem.network.assignments;
  const auto result = [&](std::size_t number) { return assignments[number].result.tensor; };
  for (std::size_t number = 0; number < assignments.size(); ++number) {
    results_.push_back({is_wanted(problem.network.tensors[result(number)].name, problem.network, problem.options), {}, {}});
  }
  // As memory_plan() counts: wanted results, and those stored before that are read now or later.
  for (std::size_t running = 0; running < assignments.size(); ++running) {
    for (std::size_t number = 0; number < assignments.size(); ++number) {
      bool live = results_[number].wanted;
      for (std::size_t later = running; number < running && later < assignments.size(); ++later) {
        live = live || reads(assignments[later], result(number));
      }
      if (live && number != running) results_[running].live.push_back(number);
    }
  }
}

void Encoding::price(Literal literal, double ns) {
  if (ns > 0) sum_.emplace_back(literal, ns);
}

void Encoding::add(std::size_t assignment, const Way& way, NestGraph graph) {
  if (!ways_.empty() && ways_.back().assignment != assignment) {
    for (auto& [tensor, copies] : shared_copies_) copies.before += std::exchange(copies.accesses, 0);
  }
  Encoded encoded;
  encoded.assignment = assignment;
  encoded.way = &way;
  encoded.graph = std::move(graph);
  encoded.chosen = solver_.boolean();
  price(encoded.chosen, least_conversion_ns(way.alternative, way.problem.operands, problem_.options, shared_));
  encode_states(encoded);
  encode_copies(encoded);
  for (const auto& stored : way.layouts) {
    const auto [found, added] = layouts_.try_emplace(stored);
    if (added) found->second = solver_.boolean();
    solver_.clause(std::vector{!encoded.chosen, found->second}, solver_.family("layouts of results"));
  }
  ways_.push_back(std::move(encoded));
}

void Encoding::encode_states(Encoded& encoded) {
  const Family nests = solver_.family("loop nests");
  const NestGraph& graph = encoded.graph;
  for (std::size_t number = 0; number < graph.states.size(); ++number) {
    encoded.states.push_back(number == 0 ? encoded.chosen : solver_.boolean());
  }
  for (const NestGraph::Option& option : graph.options) {
    const Literal literal = solver_.boolean();
    price(literal, option.ns);
    for (const auto& below : {option.inside, option.after}) {
      if (below) solver_.clause(std::vector{!literal, encoded.states[*below]}, nests);
    }
    encoded.options.push_back(literal);
  }
  for (std::size_t number = 0; number < graph.states.size(); ++number) {
    std::vector<Literal> any{!encoded.states[number]};
    for (const std::uint32_t option : graph.states[number].options) any.push_back(encoded.options[option]);
    solver_.clause(any, nests);
  }
}

// If `chosen`, the sizes of the true literals fit into the budget, what is left of the limit beside whole bytes that are held. One size
// is added to those as memory_plan() adds it, which rounds: a workspace of 455.0000000000003 bytes beside 6784 is a demand of 7239.
// Several are rounded down.
void Encoding::within(Sizes sizes, double budget, Literal chosen, Family family) {
  if (budget < 0) {
    solver_.clause(std::vector{!chosen}, family);
    return;
  }
  const double limit = static_cast<double>(memory_limit_);
  const double held = limit - budget;
  std::erase_if(sizes, [&](const std::pair<Literal, double>& size) {
    const bool exceeds = held + size.second > limit;
    if (exceeds) solver_.clause(std::vector{!chosen, !size.first}, family);
    return exceeds;
  });
  for (auto& [literal, size] : sizes) size = std::min(size, budget);
  Weights weighed = weights(sizes, budget);
  if (weighed.total <= weighed.bound) return;
  weighed.parts.push_back({chosen, weighed.total - weighed.bound});
  solver_.at_most(weighed.parts, weighed.total, family);
}

void Encoding::close() {
  for (std::size_t assignment = 0; assignment < results_.size(); ++assignment) {
    std::vector<Literal> any;
    for (const Encoded& encoded : ways_) {
      if (encoded.assignment == assignment) any.push_back(encoded.chosen);
    }
    solver_.clause(any, solver_.family("loop nests"));
  }
  for (const auto& [tensor, copies] : shared_copies_) order_copies(tensor, copies);
  std::map<TensorId, std::vector<Literal>> layouts;
  for (const auto& [stored, literal] : layouts_) layouts[stored.first].push_back(literal);
  for (const auto& [tensor, literals] : layouts) solver_.at_most_one(literals, solver_.family("layouts of results"));
  if (memory_limit_ != 0) encode_memory();
}

void Encoding::below(double ns) {
  if (std::isinf(ns)) return;
  const Weights weighed = weights(sum_, ns);
  // What takes less has fewer units, even where every part is a whole number of them.
  solver_.at_most(weighed.parts, weighed.bound - 1, solver_.family("time"));
}

ChosenNests Encoding::read(std::size_t assignment) const {
  const Encoded& encoded = *std::ranges::find_if(ways_, [&](const Encoded& way) {
    return way.assignment == assignment && solver_.value(way.chosen);
  });
  ChosenNests nests;
  nests.way = encoded.way;
  nests.loops.resize(encoded.way->alternative.contractions.steps.size());
  nests.fused.assign(nests.loops.size(), 0);
  struct Open {
    std::uint32_t state = 0;
    std::vector<IndexId> path;
  };
  std::vector<Open> open{{0, {}}};
  while (!open.empty()) {
    Open here = std::move(open.back());
    open.pop_back();
    const NestGraph::State& state = encoded.graph.states[here.state];
    const auto chosen = std::find_if(state.options.begin(), state.options.end(),
                                     [&](std::uint32_t option) { return solver_.value(encoded.options[option]); });
    const NestGraph::Option& option = encoded.graph.options[*chosen];
    nests.options.push_back(encoded.options[*chosen]);
    nests.ns += option.ns;
    std::vector<IndexId> inner = here.path;
    if (!option.body) inner.push_back(option.index);
    if (here.path.empty()) nests.roots.push_back(option.reduction);
    if (option.after) {
      nests.fused[option.end + 1] = static_cast<std::uint32_t>(here.path.size());
      open.push_back({*option.after, std::move(here.path)});
    }
    // A statement with nothing left to bind has its loops.
    if (option.inside) {
      open.push_back({*option.inside, std::move(inner)});
    } else {
      nests.loops[state.first] = std::move(inner);
    }
  }
  return nests;
}

void Encoding::exclude_chosen() {
  std::vector<Literal> any;
  for (std::size_t assignment = 0; assignment < results_.size(); ++assignment) {
    for (const Literal option : read(assignment).options) any.push_back(!option);
  }
  solver_.clause(any, solver_.family(memory_family));
}

}  // namespace weft
