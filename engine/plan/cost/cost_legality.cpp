// What the cost model may not price because meaning or threads forbid it.
#include <algorithm>

#include "engine/plan/cost/cost_model.h"

namespace weft {

// The same rule as check_presence(), for every order of the loops that are still to come: loops over unshared modes
// are not filtered, and one factor at most, below a stored position, drives the loops that sum.
bool CostModel::provably_present(const StatementFlow::Intermediate& intermediate, IndexSet shared, StatementRange writers) const {
  const IndexSet inner = indices(intermediate.writer) & ~shared;
  const AccessModel* driver = nullptr;
  for (std::size_t number = writers.first; number <= writers.last; ++number) {
    for (const auto& factor : statements_[number].model->factors) {
      if (!factor->leaves_out() || (factor->indices() & inner) == 0) continue;
      if (driver != nullptr) return false;
      driver = factor.get();
    }
  }
  for (const IndexId index : members(inner)) {
    if (extent(index) == 0) return false;
  }
  for (const StatementFlow::Intermediate& other : flow_->intermediates) {
    if (other.reader == intermediate.writer) return false;
  }
  if (driver == nullptr) return true;
  if ((driver->indices() & inner & intermediate.modes) != 0) return false;
  const BoundState state = driver->bound(shared);
  const IndexSet remaining = driver->indices() & inner;
  if (state == 0 || !driver->is_sparse_at(state) || (remaining & (remaining - 1)) != 0) return false;
  const std::vector<LevelStep> steps = driver->steps(state, driver->bound(shared | remaining));
  return steps.size() == 1 && !steps.front().located;
}

bool CostModel::may_be_stored(std::size_t writer, IndexSet shared) const {
  const StatementModels::Statement& model = *statements_[writer].model;
  if (!model.compressed.empty()) return shared == 0;
  return !model.inside_only || (shared != 0 && is_keyed(writer, shared));
}

bool CostModel::keeps_order(IndexSet bound, IndexId index, StatementRange range) const {
  const bool writes_result = range.last + 1 == statements_.size();
  if (writes_result && result_ != nullptr && result_->hides_positions(bound, index)) return false;
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
  std::size_t leaving = 0;
  bool leaves_out = false;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    if (leaves(number, range)) ++leaving;
    leaves_out = leaves_out || statements_[number].model->leaves_out;
  }
  return leaving <= 1 || !leaves_out;
}

// What a copy is for: where it drives, the operand could.
bool CostModel::drives_copy(const CoIteration& co_iteration, std::span<const Participant> participants) const {
  return std::ranges::any_of(participants, [&](const Participant& participant) {
    const StatementModels::Statement& statement = *statements_[participant.part.statement].model;
    const bool copy = (statement.copies >> participant.part.factor & 1) != 0 && participant.table == Table::one_mode;
    return copy && (!co_iteration.looked_up || participant.part.drive);
  });
}

bool CostModel::stores_copy(StatementRange range) const {
  for (std::size_t number = range.first; number <= range.last; ++number) {
    if (statements_[number].model->fills_copy && leaves(number, range)) return true;
  }
  return false;
}

bool CostModel::drives_copy(Outside outside, IndexId index, StatementRange range, JoinSet others) const {
  const bool any = std::any_of(statements_.begin() + static_cast<std::ptrdiff_t>(range.first),
                               statements_.begin() + static_cast<std::ptrdiff_t>(range.last) + 1,
                               [](const Placed& statement) { return statement.model->copies != 0; });
  return any && loop(outside, index, range, others).drives_copy;
}

bool CostModel::may_materialise(IndexSet shared, StatementRange writers, std::size_t last) const {
  for (const StatementFlow::Intermediate& intermediate : flow_->intermediates) {
    const bool written = intermediate.writer >= writers.first && intermediate.writer <= writers.last;
    if (!written || intermediate.reader <= writers.last || intermediate.reader > last) continue;
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
    const bool harmless = (intermediate.others_finite && !makes_entries()) || (intermediate.modes & ~shared) == 0;
    if (!harmless && !provably_present(intermediate, shared, writers)) return false;
    const double bytes = combinations(intermediate.modes & ~shared) * intermediate.scalar_bytes;
    if (bytes * copies > static_cast<double>(options_.memory_limit)) return false;
  }
  return true;
}

bool CostModel::may_own(IndexId index, StatementRange range) const {
  for (std::size_t number = range.first; number <= range.last; ++number) {
    if (leaves(number, range) && statements_[number].model->sums(index)) return false;
    if (makes_entries() && number + 1 == statements_.size() && result_->departs(0, index)) return false;
  }
  return true;
}

double CostModel::leaving_bytes(StatementRange range) const {
  double bytes = 0;
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const bool sparse = result_ != nullptr && number + 1 == statements_.size();
    const StatementModels::Statement& model = *statements_[number].model;
    if (!leaves(number, range)) continue;
    if (model.keyed != 0) bytes += model.product->distinct(model.keyed) * 14;
    else bytes += sparse ? result_->bytes() : model.target->bytes();
  }
  return bytes;
}

}  // namespace weft
