#include "engine/plan/prove/workspace_bytes.h"

#include <algorithm>

#include "engine/plan/schedule/binding.h"
#include "runtime/level_traits.h"

namespace weft {

WorkspaceBytes::WorkspaceBytes(const Alternative& alternative, const Problem& problem)
    : alternative_(alternative), network_(problem.network), options_(problem.options) {
  const auto& [network, operands, options] = problem;
  const Schedule& schedule = alternative.schedule;
  const bool sparse = std::ranges::any_of(schedule.statements, [&](const ScheduledStatement& statement) {
    return has_sparse_level(schedule.tensors[statement.target.tensor].format);
  });
  if (!sparse) return;
  model_.emplace(schedule, problem, alternative.free, alternative.room);
  for (std::size_t number = 0; number < schedule.statements.size(); ++number) {
    products_.push_back(estimate_of(schedule, number, network, operands, options.joins));
  }
}

IndexSet WorkspaceBytes::modes(std::size_t writer) const {
  return index_set(alternative_.schedule.statements[writer].target.indices);
}

double WorkspaceBytes::dense(std::size_t writer, IndexSet indices) const {
  const Schedule& schedule = alternative_.schedule;
  double size = scalar_bytes(schedule.tensors[schedule.statements[writer].target.tensor].format.scalar);
  for (const IndexId index : members(indices)) size *= static_cast<double>(network_.indices[index].extent);
  return size;
}

// Inside loops over `outside`, some of which may be modes of the key.
double WorkspaceBytes::keyed(std::size_t writer, IndexSet outside, IndexSet whole_key, LevelKind kind) const {
  const Schedule& schedule = alternative_.schedule;
  const ProductEstimate& product = products_[writer];
  const IndexSet key = whole_key & ~outside;
  KeyedWorkspace workspace;
  workspace.scalar_bytes = scalar_bytes(schedule.tensors[schedule.statements[writer].target.tensor].format.scalar);
  for (const IndexId index : members(modes(writer) & ~outside)) {
    (contains(key, index) ? workspace.keys : workspace.block) *= static_cast<double>(network_.indices[index].extent);
  }
  workspace.one_mode = (key & (key - 1)) == 0;
  workspace.entries = product.distinct(outside | key) / std::max(1.0, product.distinct(outside));
  // A bitmap has one mode.
  const bool table = has_bits(kind) && !workspace.one_mode;
  return keyed_price(options_.machine, workspace, table ? LevelKind::accumulator : kind).bytes;
}

double WorkspaceBytes::inside(std::size_t writer, IndexSet shared) const {
  const IndexSet stored = modes(writer) & ~shared;
  if (!model_ || !model_->is_keyed(writer, shared)) return dense(writer, stored);
  const LevelKind kind = model_->workspace(writer, shared).kind;
  return std::min(keyed(writer, shared, model_->key(writer), kind), keyed(writer, shared, modes(writer), kind));
}

double WorkspaceBytes::between(std::size_t writer) const {
  return model_ && model_->key(writer) != 0 ? 0 : dense(writer, modes(writer));
}

double WorkspaceBytes::of_result() const {
  const Schedule& schedule = alternative_.schedule;
  const ScheduledTensor& result = schedule.tensors[schedule.statements.back().target.tensor];
  const std::size_t last = schedule.statements.size() - 1;
  return result.format.all_dense() && !result.delivered ? dense(last, modes(last)) : 0;
}

std::optional<double> WorkspaceBytes::drained(std::size_t writer, Outside where, IndexId index, StatementRange range) const {
  if (!model_) return std::nullopt;
  if (writer + 1 == model_->statements()) {
    if (!model_->departs(where, index, range)) return std::nullopt;
    return model_->drain(where, index, range).bytes;
  }
  const IndexSet stored = model_->compressed(writer);
  const IndexSet key = stored != 0 ? stored : model_->key(writer);
  const IndexSet all = modes(writer);
  const IndexSet outside = where.indices;
  const bool departs = !contains(all, index) && (outside & ~all) == 0 && (key & ~outside) != 0;
  if (!departs) return std::nullopt;
  const LevelKind kind = model_->workspace(writer, 0).kind;
  if (stored != 0) return keyed(writer, outside, stored, kind);
  const double with_all = keyed(writer, outside, all, kind);
  // A loop over the block before the key is complete: not provably written, so that all modes are the key.
  return (outside & ~key) != 0 ? with_all : std::min(with_all, keyed(writer, outside, key, kind));
}

}  // namespace weft
