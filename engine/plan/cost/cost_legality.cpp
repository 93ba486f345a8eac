// What the cost model may not price because meaning or threads forbid it.
#include <algorithm>

#include "engine/plan/cost/cost_model.h"

namespace weft {

// The same rule as check_presence(), for every order of the loops that are still to come: loops over unshared modes
// are not filtered, and one factor at most, below a stored position, drives the loops that sum.
bool CostModel::provably_present(const StatementFlow::Intermediate& intermediate, IndexSet shared, StatementRange writers) const {
  const IndexSet inner = indices(intermediate.writer) & ~shared;
  const AccessModel* driver = nullptr;
  for (const Placed& statement : placed(writers)) {
    for (const auto& factor : statement.model->factors) {
      if (!factor->leaves_out() || (factor->indices() & inner) == 0) continue;
      if (driver != nullptr) return false;
      driver = &*factor;
    }
  }
  for (const IndexId index : members(inner)) {
    if (extent(index) == 0) return false;
  }
  const auto makes_it = [&](const StatementFlow::Intermediate& other) { return other.reader == intermediate.writer; };
  if (std::ranges::any_of(flow_->intermediates, makes_it)) return false;
  if (driver == nullptr) return true;
  if ((driver->indices() & inner & intermediate.modes) != 0) return false;
  const BoundState state = driver->bound(shared);
  const IndexSet remaining = driver->indices() & inner;
  if (state == 0 || !driver->is_sparse_at(state) || (remaining & (remaining - 1)) != 0) return false;
  const std::vector<LevelStep> steps = driver->steps(state, driver->bound(shared | remaining));
  return steps.size() == 1 && !steps.front().level.located;
}

bool CostModel::may_be_stored(std::size_t writer, IndexSet shared) const {
  const StatementModels::Statement& model = *statements_[writer].model;
  if (!model.compressed.empty()) return shared == 0;
  return !model.inside_only || (shared != 0 && is_keyed(writer, shared));
}

bool CostModel::keeps_order(IndexSet bound, IndexId index, StatementRange range) const {
  if (writes_sparse(range.last) && result_->hides_positions(bound, index)) return false;
  if (!ordered_) return true;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const std::vector<IndexId>& levels = statements_[number].model->compressed;
    if (levels.empty() || !contains(statements_[number].model->target->indices(), index)) continue;
    const auto level = std::ranges::find(levels, index);
    if (std::any_of(levels.begin(), level, [&](IndexId above) { return !contains(bound, above); })) return false;
    const bool last = level != levels.end() && level + 1 == levels.end();
    if (last && !writes_block(number, bound | one_index(index), range)) return false;
  }
  return true;
}

// As a whole, once the levels above it are bound, each time.
bool CostModel::writes_block(std::size_t writer, IndexSet bound, StatementRange range) const {
  const auto intermediate = std::ranges::find(flow_->intermediates, writer, &StatementFlow::Intermediate::writer);
  return (intermediate->modes & ~index_set(statements_[writer].model->compressed)) == 0 ||
         provably_present(*intermediate, bound, range);
}

bool CostModel::may_share_nest(StatementRange range) const {
  const auto leaving = std::ranges::count_if(placed(range), [&](const Placed& statement) { return leaves(statement, range); });
  return leaving <= 1 || std::ranges::none_of(placed(range), [](const Placed& statement) { return statement.model->leaves_out; });
}

// What a copy is for: where it drives, the operand could.
bool CostModel::drives_copy(const CoIteration& co_iteration, std::span<const Participant> participants) const {
  return std::ranges::any_of(participants, [&](const Participant& participant) {
    const bool copy = statements_[participant.part.statement].model->factors[participant.part.factor].copy;
    return copy && participant.table == Table::one_mode && (!co_iteration.looked_up || participant.part.drive);
  });
}

bool CostModel::stores_copy(StatementRange range) const {
  return std::ranges::any_of(placed(range), [&](const Placed& each) { return each.model->fills_copy && leaves(each, range); });
}

bool CostModel::drives_copy(Outside outside, IndexId index, StatementRange range, JoinSet others) const {
  const bool any = std::ranges::any_of(placed(range), [](const Placed& statement) { return statement.model->reads_copy; });
  return any && loop(outside, index, range, others).drives_copy;
}

bool CostModel::may_materialise(IndexSet shared, StatementRange writers, std::size_t last) const {
  for (const StatementFlow::Intermediate& intermediate : flow_->intermediates) {
    if (!is_between(intermediate, writers, last)) continue;
    // A result is written where the position of the operand is known.
    if (intermediate.carries_pattern && (result_->modes() & ~shared) != 0) return false;
    if (!may_be_stored(intermediate.writer, shared)) return false;
    const double copies = shared == 0 ? 1 : options_.machine.threads;
    if (is_keyed(intermediate.writer, shared)) {
      // An intermediate between nests grows, and is charged as it does.
      if (shared != 0 && workspace(intermediate.writer, shared).bytes * copies > static_cast<double>(options_.memory_limit)) return false;
      continue;
    }
    // A single entry knows whether it is there.
    const bool harmless = (intermediate.others_finite && !makes_entries(statements_.size() - 1)) || (intermediate.modes & ~shared) == 0;
    if (!harmless && !provably_present(intermediate, shared, writers)) return false;
    const double bytes = combinations(intermediate.modes & ~shared) * intermediate.scalar_bytes;
    if (bytes * copies > static_cast<double>(options_.memory_limit)) return false;
  }
  return true;
}

bool CostModel::may_own(IndexId index, StatementRange range) const {
  if (makes_entries(range.last) && result_->departs(0, index)) return false;
  return std::ranges::none_of(placed(range), [&](const Placed& each) { return leaves(each, range) && each.model->sums(index); });
}

}  // namespace weft
