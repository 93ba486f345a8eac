// What the cost model says of results with compressed levels.
#include <algorithm>

#include "engine/plan/cost/cost_model.h"

namespace weft {
namespace {

// Nanoseconds of the first run, in thread time. A pass that counts entries before they are appended: a coordinate found
// and marked, and an entry counted. Else a byte of the result that is written to new pages of a chunk, which go back to
// the system when it is copied. Later runs write into the arrays that the first one left.
constexpr double counted_product = 1.2;
constexpr double counted_entry = 0.5;
constexpr double copied_byte = 0.5;

// An entry of a level that is appended behind the loops over what lies below it.
constexpr double closed_entry = 2.5;

}  // namespace

bool CostModel::appends(StatementRange range) const {
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const bool entries = key(number) != 0 || (makes_entries() && number + 1 == statements_.size());
    if (leaves(number, range) && entries) return true;
  }
  return false;
}

KeyedPrice CostModel::drain(Outside outside, IndexId index, StatementRange range) const {
  if (!departs(outside, index, range)) return {};
  const IndexSet bound = outside.indices;
  // Every product is an insertion: sums inside the last level of the key are rare.
  const StatementRange last{range.last, range.last};
  const double entered = iterations(bound, last);
  const double products = entered > 0 ? iterations(bound | indices(range.last), last) / entered : 0;
  const double inserts = products / std::max(1.0, result_->block());
  KeyedWorkspace workspace = result_->workspace(bound, inserts);
  workspace.runs = options_.calls;
  return cheapest_keyed(options_.machine, workspace);
}

LevelKind CostModel::gathered_in(std::size_t writer, IndexSet bound, IndexSet key) const {
  const StatementModels::Statement& statement = *statements_[writer].model;
  KeyedWorkspace workspace;
  workspace.keys = combinations(key);
  workspace.block = combinations(statement.target->indices() & ~statement.keyed);
  workspace.scalar_bytes = statement.target->scalar_bytes();
  workspace.fillings = std::max(1.0, bound == 0 ? 1 : statement.product->distinct(bound));
  workspace.entries = statement.product->distinct(bound | key) / workspace.fillings;
  const double products = iterations(indices(writer), {writer, writer}) / std::max(1.0, workspace.block);
  workspace.inserts = std::max(workspace.entries, products / workspace.fillings);
  workspace.runs = options_.calls;
  workspace.one_mode = (key & (key - 1)) == 0;
  return cheapest_keyed(options_.machine, workspace).kind;
}

bool CostModel::may_be_counted(StatementRange range) const {
  return makes_entries() && range.last + 1 == statements_.size();
}

double CostModel::copying_ns(StatementRange range) const {
  if (!may_be_counted(range)) return 0;
  return result_->bytes() * copied_byte / options_.machine.threads / std::max(1.0, options_.calls);
}

double CostModel::counting_ns(StatementRange range, double share) const {
  if (!may_be_counted(range)) return 0;
  const double products = models_->iterations_below(statements_[range.last].number, 0) / std::max(1.0, result_->block());
  return (products * counted_product + result_->entries() * counted_entry) * share / std::max(1.0, options_.calls);
}

// An entry is made where its last coordinate is bound, unless the workspace that is drained pays for it. Values at the
// positions of an operand are written where the operand streams. Where loops go on inside, whether they had anything is asked behind them.
Movement CostModel::write_sparse(std::size_t statement, IndexSet bound, IndexId index, bool drained) const {
  const double unit = statements_[statement].model->target->scalar_bytes();
  const std::size_t from = options_.machine.cache_bytes[2] < result_->bytes() ? 3 : 2;
  const bool goes_on = (statements_[statement].model->indices & ~(bound | one_index(index))) != 0;
  const bool closes = goes_on && !drained && !result_->shares_pattern() && contains(index_set(result_->order()), index);
  const double closing = closes ? closed_entry / 2 : 0;  // counted twice: read and written
  if (!result_->completes(bound, index)) {
    if (closes) return {4, 0, closing};
    const bool in_block = contains(result_->modes(), index) && !contains(index_set(result_->order()), index);
    return in_block ? Movement{unit, unit / options_.machine.stream[1]} : Movement{};
  }
  if (drained) return {};
  const double append = result_->shares_pattern() ? 0 : result_->append_ns() / 2 + closing;
  // Never read before it is written, as what is added to is.
  constexpr double written_only = 2.0 / 3;
  return {unit, written_only * unit / options_.machine.stream[from], append};
}

}  // namespace weft
