#include "engine/plan/search/complete.h"

#include <algorithm>

#include "engine/plan/cost/nest.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/schedule/widths.h"

namespace weft {
namespace {

// A result at the positions of an operand that is read through a copy: computed with the copy's levels, handed over with the operand's.
void take_levels(ScheduledTensor& result, const Format& copy) {
  result.delivered = result.format;
  result.format.levels = copy.levels;
}

// The first so many loops of a statement are shared with others.
std::size_t shared_loops(const Schedule& schedule, std::size_t statement) {
  std::size_t shared = schedule.statements[statement].fused;
  if (statement + 1 < schedule.statements.size()) shared = std::max<std::size_t>(shared, schedule.statements[statement + 1].fused);
  return shared;
}

// The modes in the order of the loops.
void append_modes(const std::vector<IndexId>& loops, const std::vector<IndexId>& modes, IndexSet wanted,
                  std::vector<std::uint32_t>& order) {
  for (const IndexId index : loops) {
    const auto mode = std::ranges::find(modes, index) - modes.begin();
    if (contains(wanted, index) && static_cast<std::size_t>(mode) < modes.size()) {
      order.push_back(static_cast<std::uint32_t>(mode));
    }
  }
}

void realize_layouts(Schedule& schedule, const CostModel& model, const AccessPaths& paths, const std::vector<OperandFacts>& operands) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    const ScheduledStatement& statement = schedule.statements[number];
    for (std::size_t factor = 0; factor < statement.factors.size(); ++factor) {
      const std::uint32_t position = statement.factors[factor].tensor;
      const AccessPath path = path_of(paths, position);
      if (!path.converts()) continue;
      ScheduledTensor& tensor = schedule.tensors[position];
      const OperandFacts& facts = facts_of(operands, tensor.tensor);
      const Format realized = path.follows_loops() ? model.factor(number, factor).realized(statement.loops, shared_loops(schedule, number))
                                                   : layout_of(path, facts);
      if (same_layout(realized, facts.format)) continue;
      tensor.format = realized;
      tensor.converted = true;
      tensor.opened = path.way == AccessPath::Way::opened;
      for (ScheduledTensor& other : schedule.tensors)
        if (other.like == position && path.way == AccessPath::Way::chained) take_levels(other, realized);
    }
  }
  // Dense intermediates follow the loops of their writer, so that its innermost loop runs over adjacent entries.
  for (const ScheduledStatement& statement : schedule.statements) {
    ScheduledTensor& target = schedule.tensors[statement.target.tensor];
    if (target.role != TensorRole::intermediate) continue;
    target.format.mode_order.clear();
    append_modes(statement.loops, target.modes, ~IndexSet{0}, target.format.mode_order);
  }
}

void decide_loops(Schedule& schedule, const CostModel& model) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    ScheduledStatement& statement = schedule.statements[number];
    statement.vector.reset();
    statement.intersections.clear();
    for (std::size_t loop = statement.fused; loop < statement.loops.size(); ++loop) {
      const IndexId index = statement.loops[loop];
      const StatementRange range{number, last_sharer(schedule, number, loop)};
      const LoopEstimate estimate =
          model.loop(model.bound_by(schedule, number, loop), index, range, model.others(schedule, range));
      if (!estimate.decision.parts.empty()) statement.intersections.push_back({index, estimate.decision.parts});
      if (estimate.decision.vector) statement.vector = index;
    }
  }
}

// Prices take any index of a dense intermediate for the one whose neighbours are adjacent. Where its reader runs over one in a vector loop
// and its writer goes entry by entry, it is the reader's: x[j,k,m] += P[k,j,n] * S[m,n] over j, n, k, m is stored with j last for
// E[i,j] += P[k,i,m] * x[j,k,m] over m, i, k, j, of which a vector would else gather elements 32 KB apart.
void turn_to_readers(Schedule& schedule) {
  for (std::size_t writer = 0; writer < schedule.statements.size(); ++writer) {
    ScheduledTensor& tensor = schedule.tensors[schedule.statements[writer].target.tensor];
    if (tensor.role != TensorRole::intermediate || !tensor.format.all_dense() || schedule.statements[writer].vector) continue;
    const std::size_t reader = reader_of(schedule, schedule.statements[writer].target.tensor);
    if (reader == schedule.statements.size() || !schedule.statements[reader].vector) continue;
    const IndexId row = *schedule.statements[reader].vector;
    const auto mode = std::ranges::find(tensor.modes, row) - tensor.modes.begin();
    if (static_cast<std::size_t>(mode) == tensor.modes.size() || contains(shared_indices(schedule, writer, reader), row)) continue;
    std::erase(tensor.format.mode_order, static_cast<std::uint32_t>(mode));
    tensor.format.mode_order.push_back(static_cast<std::uint32_t>(mode));
  }
}

void decide_roots(Schedule& schedule, const CostModel& model) {
  const auto price = [&](Outside outside, IndexId index, StatementRange range, std::size_t, double) {
    const LoopPrice loop = model.price(outside, index, range, model.others(schedule, range));
    return LoopPrice{loop.iterations, loop.ns + model.drain(outside, index, range).ns};
  };
  schedule.roots.clear();
  for (const StatementRange nest : nests_of(schedule)) {
    RootReduction& root = schedule.roots.emplace_back(RootReduction::serial);
    const std::vector<IndexId>& loops = schedule.statements[nest.first].loops;
    if (loops.empty()) continue;
    const LoopPrice work = walk_loop(schedule, model, nest, 0, 1, price);
    root = model.root(loops.front(), nest, work.iterations, work.ns).reduction;
  }
}

// A sparse intermediate: inside a nest its modes that sparse factors restrict are a key, in the order in which the
// reader meets them; between nests they are compressed levels, in the order in which the writer meets them. Other modes
// are a dense block below, where it is provably written as a whole. Where the storage says between nests, or inside only, and the
// loops say otherwise, it is stored as it says, which is not legal there.
void decide_keys(Schedule& schedule, const Network& network, const CostModel& model) {
  for (std::size_t writer = 0; writer < schedule.statements.size(); ++writer) {
    const ScheduledStatement& statement = schedule.statements[writer];
    ScheduledTensor& tensor = schedule.tensors[statement.target.tensor];
    if (tensor.role != TensorRole::intermediate || model.key(writer) == 0) continue;
    const std::size_t reader = reader_of(schedule, statement.target.tensor);
    const IndexSet shared = shared_indices(schedule, writer, reader);
    const IndexSet modes = index_set(tensor.modes);
    const IndexSet compressed = model.compressed(writer);
    if (!model.may_be_stored(writer, shared)) {
      for (Level& level : tensor.format.levels) level.kind = compressed != 0 ? level.kind : LevelKind::hashed;
      continue;
    }
    tensor.format = dense_format(tensor.modes.size(), tensor.format.scalar);
    const auto arrange = [&](IndexSet key, const std::vector<IndexId>& loops, LevelKind kind) {
      std::vector<std::uint32_t>& order = tensor.format.mode_order;
      order.clear();
      append_modes(statement.loops, tensor.modes, shared, order);
      const std::size_t first = order.size();
      append_modes(loops, tensor.modes, key & ~shared, order);
      const std::size_t last = order.size();
      append_modes(statement.loops, tensor.modes, modes & ~key & ~shared, order);
      for (std::size_t level = 0; level < order.size(); ++level) {
        tensor.format.levels[level].kind = level >= first && level < last ? kind : LevelKind::dense;
      }
    };
    const IndexSet key = model.is_keyed(writer, shared) ? model.key(writer) : 0;
    const LevelKind kind = key == 0 ? LevelKind::dense : shared == 0 ? LevelKind::compressed : model.workspace(writer, shared).kind;
    const std::vector<IndexId>& loops = shared == 0 ? statement.loops : schedule.statements[reader].loops;
    if (compressed != 0) {
      arrange(compressed, loops, kind);
      continue;
    }
    arrange(key, loops, kind);
    if (key == 0 || knows_its_entries(schedule, network, statement.target.tensor)) continue;
    const bool bitmap = kind == LevelKind::bitmap;  // which has one mode
    arrange(modes, loops, bitmap ? LevelKind::accumulator : kind);
  }
}

// A result whose mode order follows the loops gets it.
void decide_result_order(Schedule& schedule, const ContractedTensor& given, const CostModel& model) {
  if (given.storage != Storage::of_loops) return;
  const ScheduledStatement& statement = schedule.statements.back();
  ScheduledTensor& result = schedule.tensors[statement.target.tensor];
  result.format = in_order_of_loops(*model.result_product(), statement.target.indices, given.block, statement.loops, given.scalar);
  if (result.delivered && same_layout(*result.delivered, result.format)) result.delivered.reset();
}

// A target whose levels the loops do not append in order is gathered in a workspace, and compressed from it.
void decide_drains(Schedule& schedule, const CostModel& model) {
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    ScheduledStatement& statement = schedule.statements[number];
    const ScheduledTensor& target = schedule.tensors[statement.target.tensor];
    statement.drained.reset();
    const std::size_t reader = reader_of(schedule, statement.target.tensor);
    if (!leaves_nest(schedule, number) || target.like || !has_sparse_level(target.format)) continue;
    const AppendOrder order = append_order(statement.target.indices, target.format, statement.loops);
    if (!order.needs_drain()) continue;
    const StatementRange range{number, number};
    LevelKind kind = LevelKind::accumulator;
    const bool several = order.appended - order.direct > 1;
    if (reader == schedule.statements.size()) {
      kind = model.drain(model.bound_by(schedule, number, order.direct), statement.loops[order.direct], range).kind;
    } else if (model.is_keyed(number, 0)) {
      const IndexSet bound = model.bound_by(schedule, number, order.direct).indices;
      const IndexSet key = index_set(drained_key(statement.target.indices, target.format, order));
      kind = model.gathered_in(number, bound, key);
    }
    statement.drained = several && kind == LevelKind::bitmap ? LevelKind::accumulator : kind;
  }
}

}  // namespace

Schedule complete(const Contractions& contractions, const LoopNests& nests, const Network& network, const CostModel& model,
                  const AccessPaths& paths, const std::vector<OperandFacts>& operands) {
  Schedule schedule = with_loops(contractions, nests);
  realize_layouts(schedule, model, paths, operands);
  decide_keys(schedule, network, model);
  decide_result_order(schedule, result_of(contractions), model);
  decide_drains(schedule, model);
  decide_loops(schedule, model);
  turn_to_readers(schedule);
  decide_roots(schedule, model);
  return merge_layouts(with_widths(std::move(schedule), network, operands));
}

}  // namespace weft
