#include "engine/plan/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/plan/binding.h"

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

double least_conversion_ns(const Alternative& alternative, const std::vector<OperandFacts>& operands,
                           const PlanOptions& options) {
  std::vector<TensorId> converted;
  double ns = 0;
  for (std::size_t number = 0; number < alternative.free.size(); ++number) {
    const TensorId tensor = alternative.schedule.tensors[number].tensor;
    if (!alternative.free[number] || std::find(converted.begin(), converted.end(), tensor) != converted.end()) continue;
    converted.push_back(tensor);
    ns += conversion_ns(facts_of(operands, tensor), options.machine);
  }
  return ns / std::max(1.0, options.calls);
}

Encoding::Encoding(Solver& solver, const Network& network, const std::vector<OperandFacts>& operands,
                   const PlanOptions& options, std::uint64_t memory_limit)
    : solver_(solver), network_(network), operands_(operands), options_(options), memory_limit_(memory_limit) {
  if (memory_limit_ == 0) return;
  exact_ = operands;
  for (OperandFacts& operand : exact_) {
    operand.bytes = operand.exact_bytes();
    operand.statistics = Statistics(operand.exact());
  }
}

void Encoding::price(Literal literal, double ns) {
  if (ns > 0) sum_.emplace_back(literal, ns);
}

void Encoding::add(const Alternative& alternative, const NestGraph& graph) {
  Encoded encoded{solver_.boolean(), graph, {}, {}, alternative.schedule.statements.size(), {}};
  price(encoded.chosen, least_conversion_ns(alternative, operands_, options_));
  encode_states(encoded);
  encode_copies(alternative, encoded);
  if (memory_limit_ != 0) encode_memory(alternative, encoded);
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

void Encoding::encode_copies(const Alternative& alternative, Encoded& encoded) {
  const Schedule& schedule = alternative.schedule;
  std::map<TensorId, std::vector<Converted>> converted;
  for (std::size_t statement = 0; statement < schedule.statements.size(); ++statement) {
    for (const ScheduledAccess& factor : schedule.statements[statement].factors) {
      if (alternative.free[factor.tensor]) converted[schedule.tensors[factor.tensor].tensor].push_back({statement, &factor});
    }
  }
  for (const auto& [tensor, accesses] : converted) {
    // One access alone takes whatever order its loops have.
    if (accesses.size() > 1 || memory_limit_ != 0) encode_copies_of(tensor, accesses, alternative.room, encoded);
  }
}

// The first copy is paid by the alternative, further ones here.
void Encoding::encode_copies_of(TensorId tensor, const std::vector<Converted>& accesses, double room, Encoded& encoded) {
  const Family layouts = solver_.family(fmt::format("layouts of {}", network_.tensors[tensor].name));
  const double ns = conversion_ns(facts_of(operands_, tensor), options_.machine) / std::max(1.0, options_.calls);
  // Copy number c is made if any access uses it; access a uses one of the first a + 1 copies.
  std::vector<Literal> made{encoded.chosen};
  std::vector<std::map<std::pair<ModeSet, ModeSet>, Literal>> levels(accesses.size());
  std::vector<std::map<ModeSet, Literal>> prefixes(accesses.size());
  for (std::size_t copy = 1; copy < accesses.size(); ++copy) {
    made.push_back(solver_.boolean());
    price(made[copy], ns);
    solver_.clause(std::vector{!made[copy], made[copy - 1]}, layouts);
  }
  for (std::size_t number = 0; number < accesses.size(); ++number) {
    std::vector<Literal> uses;
    std::vector<Literal> any{!encoded.chosen};
    for (std::size_t copy = 0; copy <= number; ++copy) {
      uses.push_back(solver_.boolean());
      any.push_back(uses.back());
      solver_.clause(std::vector{!uses.back(), made[copy]}, layouts);
    }
    solver_.clause(any, layouts);
    const std::vector<IndexId>& modes = accesses[number].access->indices;
    for (std::size_t option = 0; option < encoded.graph.options.size(); ++option) {
      const NestGraph::Option& chosen = encoded.graph.options[option];
      const NestGraph::State& state = encoded.graph.states[chosen.state];
      const bool serves = accesses[number].statement >= state.first && accesses[number].statement <= chosen.end;
      if (chosen.body || !serves) continue;
      ModeSet prefix = 0;
      for (std::uint32_t mode = 0; mode < modes.size(); ++mode) {
        if (contains(state.bound, modes[mode])) prefix |= ModeSet{1} << mode;
      }
      // Of a diagonal the modes are stored one after the other.
      for (std::uint32_t mode = 0; mode < modes.size(); ++mode) {
        if (modes[mode] != chosen.index) continue;
        const ModeSet above = prefix;
        prefix |= ModeSet{1} << mode;
        for (std::size_t copy = 0; copy <= number; ++copy) {
          const auto [found, added] = prefixes[copy].try_emplace(prefix);
          if (added) found->second = solver_.boolean();
          solver_.clause(std::vector{!encoded.options[option], !uses[copy], found->second}, layouts);
          if (memory_limit_ == 0) continue;
          const auto [level, first] = levels[copy].try_emplace({above, prefix});
          if (first) {
            level->second = solver_.boolean();
            encoded.copies.emplace_back(level->second, level_bytes(accesses[number], tensor, room, above, prefix));
          }
          solver_.clause(std::vector{!encoded.options[option], !uses[copy], level->second}, layouts);
        }
      }
    }
  }
  for (const std::map<ModeSet, Literal>& copy : prefixes) {
    std::map<int, std::vector<Literal>> by_size;
    for (const auto& [prefix, literal] : copy) by_size[std::popcount(prefix)].push_back(literal);
    for (const auto& [size, literals] : by_size) solver_.at_most_one(literals, layouts);
  }
}

// Positions and coordinates of one level of a converted operand, with the values below the last: as memory_plan().
double Encoding::level_bytes(const Converted& converted, TensorId tensor, double room, ModeSet above,
                             ModeSet level) const {
  const OperandFacts& facts = facts_of(exact_, tensor);
  const ScheduledTensor stored{{}, TensorRole::operand, tensor, {}, facts.format, false};
  const AccessModel access(*converted.access, stored, true, room, network_, exact_);
  const Format format = sparse_format(facts.format.order(), facts.format.scalar);
  const auto positions = [&](ModeSet modes) { return access.positions(static_cast<BoundState>(modes)); };
  double bytes = 0;
  if (access.is_sparse_at(static_cast<BoundState>(level))) {
    bytes += (positions(above) + 1) * format.levels[0].pos_bits / 8 + positions(level) * format.levels[0].crd_bits / 8;
  }
  const bool last = level + 1 == ModeSet{1} << facts.format.order();
  return bytes + (last ? positions(level) * scalar_bytes(format.scalar) : 0);
}

double Encoding::bytes(const ScheduledTensor& tensor, IndexSet indices) const {
  double size = scalar_bytes(tensor.format.scalar);
  for (const IndexId index : members(indices)) size *= static_cast<double>(network_.indices[index].extent);
  return size;
}

void Encoding::encode_memory(const Alternative& alternative, const Encoded& encoded) {
  const Schedule& schedule = alternative.schedule;
  const Family memory = solver_.family(memory_family);
  double lasting = 0;
  for (const OperandFacts& operand : exact_) lasting += static_cast<double>(operand.bytes);
  for (const ScheduledStatement& statement : schedule.statements) {
    const ScheduledTensor& target = schedule.tensors[statement.target.tensor];
    if (target.role == TensorRole::result) lasting += bytes(target, index_set(statement.target.indices));
  }
  double sorting = 0;
  for (std::size_t number = 0; number < schedule.tensors.size(); ++number) {
    if (!alternative.free[number]) continue;
    const OperandFacts& facts = facts_of(exact_, schedule.tensors[number].tensor);
    const double entry = 4.0 * static_cast<double>(facts.format.order()) + scalar_bytes(facts.format.scalar);
    sorting = std::max(sorting, 2 * facts.statistics.nnz() * entry);
  }
  within(encoded.copies, static_cast<double>(memory_limit_) - lasting - sorting, encoded.chosen, memory);
  // What is stored between statements of one nest, by the indices that writer and reader share.
  Workspaces stored;
  for (std::size_t number = 0; number < encoded.graph.options.size(); ++number) {
    const NestGraph::Option& option = encoded.graph.options[number];
    const NestGraph::State& state = encoded.graph.states[option.state];
    if (state.bound == 0) continue;
    for (std::size_t writer = state.first; writer <= option.end; ++writer) {
      const std::size_t reader = reader_of(schedule, schedule.statements[writer].target.tensor);
      if (reader <= option.end || reader > state.last) continue;
      const IndexSet shared = state.bound & index_set(schedule.statements[writer].target.indices);
      const auto [found, added] = stored.try_emplace({writer, shared});
      if (added) found->second = solver_.boolean();
      solver_.clause(std::vector{!encoded.options[number], found->second}, memory);
    }
  }
  for (const std::uint32_t option : encoded.graph.states[0].options) encode_nest(alternative, encoded, option, stored, lasting);
  for (std::size_t number = 1; number < encoded.graph.states.size(); ++number) {
    const NestGraph::State& state = encoded.graph.states[number];
    if (state.bound != 0) continue;
    for (const std::uint32_t option : state.options) encode_nest(alternative, encoded, option, stored, lasting);
  }
}

// What lives while a nest runs: intermediates that come in, pass by or leave, its workspaces (one per thread) and at
// least two private copies of what it writes.
void Encoding::encode_nest(const Alternative& alternative, const Encoded& encoded, std::size_t number,
                           const Workspaces& stored, double lasting) {
  const Schedule& schedule = alternative.schedule;
  const NestGraph::Option& option = encoded.graph.options[number];
  const std::size_t first = encoded.graph.states[option.state].first;
  double live = 0;
  double leaving = 0;
  std::vector<std::string> names;  // of what is stored
  for (std::size_t writer = 0; writer <= option.end; ++writer) {
    const ScheduledAccess& target = schedule.statements[writer].target;
    const ScheduledTensor& tensor = schedule.tensors[target.tensor];
    const std::size_t reader = reader_of(schedule, target.tensor);
    const double whole = bytes(tensor, index_set(target.indices));
    const bool leaves = reader == schedule.statements.size() || reader > option.end;
    if (writer >= first && leaves) leaving += whole;
    if (tensor.role != TensorRole::intermediate || reader < first) continue;
    if (leaves || writer < first) live += whole;
    names.push_back(tensor.name);
  }
  if (option.reduction == RootReduction::private_copies) live += 2 * leaving;
  const double room = static_cast<double>(memory_limit_) - lasting - live;
  const Literal chosen = encoded.options[number];
  std::vector<std::pair<Literal, double>> sizes = encoded.copies;
  for (const auto& [what, literal] : stored) {
    const auto& [writer, shared] = what;
    const ScheduledAccess& target = schedule.statements[writer].target;
    if (writer < first || reader_of(schedule, target.tensor) > option.end) continue;
    sizes.emplace_back(literal, options_.machine.threads * bytes(schedule.tensors[target.tensor],
                                                                 index_set(target.indices) & ~shared));
  }
  within(std::move(sizes), room, chosen,
         solver_.family(std::string(memory_family) + fmt::format("{}", fmt::join(names, " and "))));
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
  std::vector<Literal> any;
  for (const Encoded& encoded : alternatives_) any.push_back(encoded.chosen);
  solver_.clause(any, solver_.family("loop nests"));
}

void Encoding::below(double ns) {
  if (std::isinf(ns)) return;
  const Weights weighed = weights(sum_, ns);
  // What takes less has fewer units, even where every part is a whole number of them.
  solver_.at_most(weighed.parts, weighed.bound - 1, solver_.family("time"));
}

ChosenNests Encoding::read() const {
  ChosenNests nests;
  while (nests.alternative + 1 < alternatives_.size() && !solver_.value(alternatives_[nests.alternative].chosen)) {
    ++nests.alternative;
  }
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
  for (const Encoded& encoded : alternatives_) {
    for (const Literal option : encoded.options) {
      if (solver_.value(option)) any.push_back(!option);
    }
  }
  solver_.clause(any, solver_.family(memory_family));
}

}  // namespace weft
