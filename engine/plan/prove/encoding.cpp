#include "engine/plan/prove/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/widths.h"

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

// Positions and coordinates of one level of a converted operand, with the values below the last: as memory_plan(). `wide`: its format
// with compressed levels in the order of its modes. In a chain all levels but its first have no positions.
double level_bytes(const AccessModel& access, const Format& wide, ModeSet above, ModeSet level) {
  const auto positions = [&](ModeSet modes) { return access.positions(static_cast<BoundState>(modes)); };
  double bytes = 0;
  if (access.is_sparse_at(static_cast<BoundState>(level))) {
    const Level& stored = wide.levels[static_cast<std::size_t>(std::countr_zero(level & ~above))];
    if (access.walked(static_cast<BoundState>(above)) == 0) bytes += (positions(above) + 1) * stored.pos_bits / 8;
    bytes += positions(level) * stored.crd_bits / 8;
  }
  const bool last = level + 1 == ModeSet{1} << wide.order();
  return bytes + (last ? positions(level) * scalar_bytes(wide.scalar) : 0);
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
    solver_.clause({!encoded.chosen, found->second}, solver_.family("layouts of results"));
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
      if (below) solver_.clause({!literal, encoded.states[*below]}, nests);
    }
    encoded.options.push_back(literal);
  }
  for (std::size_t number = 0; number < graph.states.size(); ++number) {
    std::vector<Literal> any{!encoded.states[number]};
    for (const std::uint32_t option : graph.states[number].options) any.push_back(encoded.options[option]);
    solver_.clause(any, nests);
  }
}

void Encoding::encode_copies(Encoded& encoded) {
  const auto& [contractions, paths] = encoded.way->alternative;
  std::map<TensorId, std::vector<Converted>> converted;
  for (std::size_t step = 0; step < contractions.steps.size(); ++step) {
    for (const ScheduledAccess& factor : contractions.steps[step].factors) {
      if (path_of(paths, factor.tensor).follows_loops()) converted[contractions.tensors[factor.tensor].tensor].push_back({step, &factor});
    }
  }
  for (const auto& [tensor, accesses] : converted) {
    if (shared_.contains(tensor)) {
      use_copies(tensor, accesses, encoded, shared_copies_[tensor], shared_sizes_);
      continue;
    }
    // One access alone takes whatever order its loops have.
    if (accesses.size() < 2 && memory_limit_ == 0) continue;
    Copies copies;  // the first is paid by the way
    copies.made.push_back(encoded.chosen);
    use_copies(tensor, accesses, encoded, copies, encoded.copies);
    order_copies(tensor, copies);
  }
}

// Sizes before they were quantised.
const std::vector<OperandFacts>& Encoding::exact(const Way& way, TensorId tensor) {
  std::vector<OperandFacts>& known = exact_[tensor];
  if (known.empty()) {
    known.push_back(facts_of(way.problem.operands, tensor));
    known.front().statistics = Statistics(known.front().exact());
  }
  return known;
}

Family Encoding::layouts_of(TensorId tensor) {
  return solver_.family(fmt::format("layouts of {}", problem_.network.tensors[tensor].name));
}

// Copy number c is made if any access uses it; access a uses one of the first a + 1 copies.
void Encoding::use_copies(TensorId tensor, const std::vector<Converted>& accesses, Encoded& encoded, Copies& copies, Sizes& sizes) {
  const Family layouts = layouts_of(tensor);
  const PlanOptions& options = problem_.options;
  const OperandFacts& facts = facts_of(encoded.way->problem.operands, tensor);
  const double ns = conversion_ns(facts, options.machine) / std::max(1.0, options.calls);
  copies.accesses = std::max(copies.accesses, accesses.size());
  const std::size_t most = copies.before + accesses.size();
  while (copies.made.size() < most) {
    copies.made.push_back(solver_.boolean());
    price(copies.made.back(), ns);
    const std::size_t copy = copies.made.size() - 1;
    if (copy > 0) solver_.clause({!copies.made[copy], copies.made[copy - 1]}, layouts);
  }
  copies.prefixes.resize(std::max(copies.prefixes.size(), most));
  copies.levels.resize(std::max(copies.levels.size(), most));
  for (std::size_t number = 0; number < accesses.size(); ++number) {
    const std::size_t last_copy = copies.before + number;
    std::vector<Literal> uses;
    std::vector<Literal> any{!encoded.chosen};
    for (std::size_t copy = 0; copy <= last_copy; ++copy) {
      uses.push_back(solver_.boolean());
      any.push_back(uses.back());
      solver_.clause({!uses.back(), copies.made[copy]}, layouts);
    }
    solver_.clause(any, layouts);
    std::optional<AccessModel> model;  // where memory matters
    if (memory_limit_ != 0) {
      const ContractedTensor stored{{{}, TensorRole::operand, tensor}, Storage::stored, facts.format.scalar, facts.format};
      model.emplace(*accesses[number].access, stored, path_of(encoded.way->alternative.paths, accesses[number].access->tensor),
                    problem_.network, exact(*encoded.way, tensor));
    }
    lay_out(accesses[number], encoded, uses, model ? &*model : nullptr, copies, sizes);
  }
}

// The copy that an access uses has its modes in the order of the loops that are chosen for its statement.
void Encoding::lay_out(const Converted& access, const Encoded& encoded, const std::vector<Literal>& uses, const AccessModel* model,
                       Copies& copies, Sizes& sizes) {
  const TensorId tensor = encoded.way->alternative.contractions.tensors[access.access->tensor].tensor;
  const Family layouts = layouts_of(tensor);
  const OperandFacts& facts = facts_of(encoded.way->problem.operands, tensor);
  const Format wide = with_widths(sparse_format(facts.format.order(), facts.format.scalar), facts.exact().extents(), facts);
  const std::vector<IndexId>& modes = access.access->indices;
  for (std::size_t option = 0; option < encoded.graph.options.size(); ++option) {
    const NestGraph::Option& chosen = encoded.graph.options[option];
    const NestGraph::State& state = encoded.graph.states[chosen.state];
    const bool serves = access.statement >= state.first && access.statement <= chosen.end;
    if (chosen.body || !serves) continue;
    ModeSet prefix = 0;
    for (std::uint32_t mode = 0; mode < modes.size(); ++mode) {
      if (contains(state.outside.indices, modes[mode])) prefix |= ModeSet{1} << mode;
    }
    // Of a diagonal the modes are stored one after the other.
    for (std::uint32_t mode = 0; mode < modes.size(); ++mode) {
      if (modes[mode] != chosen.index) continue;
      const ModeSet above = prefix;
      prefix |= ModeSet{1} << mode;
      for (std::size_t copy = 0; copy < uses.size(); ++copy) {
        const auto [found, added] = copies.prefixes[copy].try_emplace(prefix);
        if (added) found->second = solver_.boolean();
        solver_.clause({!encoded.options[option], !uses[copy], found->second}, layouts);
        if (!model) continue;
        // With another dense-fill limit it may be a dense level.
        const double bytes = level_bytes(*model, wide, above, prefix);
        const auto [level, first] = copies.levels[copy].try_emplace({above, prefix, bytes});
        if (first) {
          level->second = solver_.boolean();
          sizes.emplace_back(level->second, bytes);
        }
        solver_.clause({!encoded.options[option], !uses[copy], level->second}, layouts);
      }
    }
  }
}

// A copy has one prefix of every size.
void Encoding::order_copies(TensorId tensor, const Copies& copies) {
  const Family layouts = layouts_of(tensor);
  for (const std::map<ModeSet, Literal>& copy : copies.prefixes) {
    std::map<int, std::vector<Literal>> by_size;
    for (const auto& [prefix, literal] : copy) by_size[std::popcount(prefix)].push_back(literal);
    for (const auto& [size, literals] : by_size) solver_.at_most_one(literals, layouts);
  }
}

// If `chosen`, the sizes of the true literals fit into the budget, what is left of the limit beside whole bytes that are held. One size
// is added to those as memory_plan() adds it, which rounds: a workspace of 455.0000000000003 bytes beside 6784 is a demand of 7239.
// Several are rounded down.
void Encoding::within(Sizes sizes, double budget, Literal chosen, Family family) {
  if (budget < 0) {
    solver_.clause({!chosen}, family);
    return;
  }
  const double limit = static_cast<double>(memory_limit_);
  const double held = limit - budget;
  std::erase_if(sizes, [&](const std::pair<Literal, double>& size) {
    const bool exceeds = held + size.second > limit;
    if (exceeds) solver_.clause({!chosen, !size.first}, family);
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
