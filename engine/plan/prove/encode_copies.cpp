// The layouts of converted operands, for the solver.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/plan/cost/conversion.h"
#include "engine/plan/prove/encoding.h"
#include "engine/plan/schedule/widths.h"

namespace weft {

namespace {

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
    if (copy > 0) solver_.clause(std::vector{!copies.made[copy], copies.made[copy - 1]}, layouts);
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
      solver_.clause(std::vector{!uses.back(), copies.made[copy]}, layouts);
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
        solver_.clause(std::vector{!encoded.options[option], !uses[copy], found->second}, layouts);
        if (!model) continue;
        // With another dense-fill limit it may be a dense level.
        const double bytes = level_bytes(*model, wide, above, prefix);
        const auto [level, first] = copies.levels[copy].try_emplace({above, prefix, bytes});
        if (first) {
          level->second = solver_.boolean();
          sizes.emplace_back(level->second, bytes);
        }
        solver_.clause(std::vector{!encoded.options[option], !uses[copy], level->second}, layouts);
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

}  // namespace weft
