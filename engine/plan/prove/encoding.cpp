#include "engine/plan/prove/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/plan/schedule/binding.h"

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

Encoding::Encoding(Solver& solver, const Problem& problem, std::uint64_t memory_limit)
    : solver_(solver), options_(problem.options), memory_limit_(memory_limit) {
  next_assignment(problem.network, problem.operands, {}, 0, true, {});
  assignments_.back().lasting.reset();
}

void Encoding::next_assignment(const Network& network, const std::vector<OperandFacts>& operands,
                               const std::set<TensorId>& shared, double lasting, bool wanted,
                               const std::vector<std::size_t>& live) {
  if (alternatives_.empty()) assignments_.clear();
  PlannedAssignment& added = assignments_.emplace_back();
  added.network = &network;
  added.operands = &operands;
  added.shared = shared;
  added.lasting = lasting;
  added.wanted = wanted;
  added.live = live;
  for (auto& [tensor, copies] : shared_copies_) {
    copies.before += copies.accesses;
    copies.accesses = 0;
  }
  if (memory_limit_ == 0) return;
  added.exact = operands;
  for (OperandFacts& operand : added.exact) {
    operand.bytes = operand.exact_bytes();
    operand.statistics = Statistics(operand.exact());
  }
}

void Encoding::stores(std::size_t alternative, TensorId tensor, const std::string& layout) {
  const auto [found, added] = layouts_.try_emplace({tensor, layout});
  if (added) found->second = solver_.boolean();
  solver_.clause(std::vector{!alternatives_[alternative].chosen, found->second}, solver_.family("layouts of results"));
}

void Encoding::price(Literal literal, double ns) {
  if (ns > 0) sum_.emplace_back(literal, ns);
}

void Encoding::add(const Alternative& alternative, const NestGraph& graph, const std::vector<OperandFacts>& operands,
                   const PlanOptions& options) {
  Encoded encoded{assignments_.size() - 1, solver_.boolean(), graph, {}, {}, alternative.schedule.statements.size(), {}, 0, {}, {}};
  price(encoded.chosen, least_conversion_ns(alternative, *planned().operands, options_, planned().shared));
  encode_states(encoded);
  encode_copies(alternative, encoded);
  if (memory_limit_ != 0) {
    encode_workspaces(alternative, operands, options, encoded);
    if (planned().lasting) postponed_.push_back(alternative);
    else encode_memory(alternative, encoded);
  }
  alternatives_.push_back(std::move(encoded));
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

// If `chosen`, the sizes of the true literals fit into the room.
void Encoding::within(std::vector<std::pair<Literal, double>> sizes, double room, Literal chosen,
                      Family family) {
  if (room < 0) {
    solver_.clause(std::vector{!chosen}, family);
    return;
  }
  std::erase_if(sizes, [&](const std::pair<Literal, double>& size) {
    if (size.second > room) solver_.clause(std::vector{!chosen, !size.first}, family);
    return size.second > room;
  });
  Weights weighed = weights(sizes, room);
  if (weighed.total <= weighed.bound) return;
  weighed.parts.push_back({chosen, weighed.total - weighed.bound});
  solver_.at_most(weighed.parts, weighed.total, family);
}

void Encoding::close() {
  for (std::size_t assignment = 0; assignment < assignments_.size(); ++assignment) {
    std::vector<Literal> any;
    for (const Encoded& encoded : alternatives_) {
      if (encoded.assignment == assignment) any.push_back(encoded.chosen);
    }
    solver_.clause(any, solver_.family("loop nests"));
  }
  for (const auto& [tensor, copies] : shared_copies_) order_copies(tensor, copies);
  std::map<TensorId, std::vector<Literal>> layouts;
  for (const auto& [stored, literal] : layouts_) layouts[stored.first].push_back(literal);
  for (const auto& [tensor, literals] : layouts) solver_.at_most_one(literals, solver_.family("layouts of results"));
  if (postponed_.empty()) return;
  for (PlannedAssignment& assignment : assignments_) assignment.result.first = solver_.boolean();
  for (const Encoded& encoded : alternatives_) {
    std::pair<Literal, double>& result = assignments_[encoded.assignment].result;
    if (encoded.result == 0) continue;
    result.second = encoded.result;
    solver_.clause(std::vector{!encoded.chosen, result.first}, solver_.family(memory_family));
  }
  for (std::size_t number = 0; number < postponed_.size(); ++number) encode_memory(postponed_[number], alternatives_[number]);
}

void Encoding::below(double ns) {
  if (std::isinf(ns)) return;
  const Weights weighed = weights(sum_, ns);
  // What takes less has fewer units, even where every part is a whole number of them.
  solver_.at_most(weighed.parts, weighed.bound - 1, solver_.family("time"));
}

ChosenNests Encoding::read(std::size_t assignment) const {
  ChosenNests nests;
  const auto chosen_one = std::ranges::find_if(alternatives_, [&](const Encoded& encoded) {
    return encoded.assignment == assignment && solver_.value(encoded.chosen);
  });
  nests.alternative = static_cast<std::size_t>(chosen_one - alternatives_.begin());
  const Encoded& encoded = alternatives_[nests.alternative];
  nests.loops.resize(encoded.statements);
  nests.fused.assign(encoded.statements, 0);
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
    nests.options.push_back(*chosen);
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
  for (std::size_t assignment = 0; assignment < assignments_.size(); ++assignment) {
    const ChosenNests nests = read(assignment);
    for (const std::uint32_t option : nests.options) any.push_back(!alternatives_[nests.alternative].options[option]);
  }
  solver_.clause(any, solver_.family(memory_family));
}

}  // namespace weft
