// What the cost model says of results with compressed levels.
#include <algorithm>

#include "engine/plan/append_order.h"
#include "engine/plan/cost_model.h"

namespace weft {

namespace {

constexpr double stored_entry = 2.5;  // appending and assembling an entry of an intermediate, all threads together

}  // namespace

void CostModel::add_sparse_target(const Schedule& schedule, const ScheduledStatement& scheduled, const Network& network,
                                  const std::vector<OperandFacts>& operands, Statement& statement) const {
  const auto number = static_cast<std::size_t>(&scheduled - schedule.statements.data());
  statement.product = std::make_shared<ProductEstimate>(estimate_of(schedule, number, network, operands));
  statement.keyed = statement.product->restricted() & index_set(scheduled.target.indices);
}

// A workspace is read in the order of the reader's loops, a stored intermediate in that of its format.
std::shared_ptr<AccessModel> CostModel::sparse_factor(const Schedule& schedule, const ScheduledAccess& factor,
                                                      const Statement& writer, double room, const Network& network,
                                                      const std::vector<OperandFacts>& operands) const {
  const ScheduledTensor& tensor = schedule.tensors[factor.tensor];
  const auto statistics = [&](const std::vector<IndexId>& indices, const Format& format) {
    return std::make_shared<const Statistics>(estimated_statistics(*writer.product, network, indices, format, true));
  };
  if (may_be_computed(tensor.format)) {
    return std::make_shared<AccessModel>(factor, tensor, false, room, network, operands,
                                         statistics(factor.indices, tensor.format));
  }
  const bool whole = writer.keyed == index_set(factor.indices);
  const ScheduledAccess keyed{factor.tensor, whole ? factor.indices : members(writer.keyed)};
  ScheduledTensor table = tensor;
  table.format = sparse_format(keyed.indices.size(), tensor.format.scalar);
  auto access = std::make_shared<AccessModel>(keyed, table, true, 0, network, operands, statistics(keyed.indices, table.format));
  access->add_block(index_set(factor.indices) & ~writer.keyed);
  return access;
}

Table CostModel::table_of(std::size_t writer, IndexSet bound) const {
  if (!is_keyed(writer, bound)) return Table::none;
  const IndexSet open = statements_[writer].keyed & ~bound;
  return (open & (open - 1)) == 0 ? Table::one_mode : Table::several_modes;
}

bool CostModel::appends(StatementRange range) const {
  for (std::size_t number = range.first; number <= range.last; ++number) {
    const Statement& statement = statements_[number];
    const bool leaves = statement.reader == statements_.size() || statement.reader > range.last;
    if (leaves && (statement.keyed != 0 || (makes_entries() && number + 1 == statements_.size()))) return true;
  }
  return false;
}

// Stored, it has its modes in the order of its writer's loops: at best all but the last are bound in this order, and
// that one is gathered in a workspace for each combination of the others.
KeyedPrice CostModel::workspace(std::size_t writer, IndexSet shared) const {
  const Statement& statement = statements_[writer];
  const ProductEstimate& product = *statement.product;
  const IndexSet key = statement.keyed & ~shared;
  KeyedWorkspace figures;
  figures.block = combinations(index_set(members(statement.target->indices())) & ~statement.keyed & ~shared);
  figures.scalar_bytes = statement.target->scalar_bytes();
  figures.keys = combinations(key);
  figures.one_mode = (key & (key - 1)) == 0;
  figures.ordered = !figures.one_mode;
  figures.inserts = iterations_below(writer, shared) / std::max(1.0, figures.block);
  const double entries = product.distinct(shared | key);
  if (shared != 0) {
    figures.entries = entries / std::max(1.0, product.distinct(shared));
    return cheapest_keyed(options_.machine, figures);
  }
  double fillings = 1;
  if (!figures.one_mode) {
    for (const IndexId last : members(key)) {
      const double others = product.distinct(key & ~one_index(last));
      if (others < fillings) continue;
      fillings = others;
      figures.keys = extent(last);
    }
  }
  figures.one_mode = true;
  figures.ordered = true;
  figures.entries = entries / std::max(1.0, fillings);
  figures.inserts /= std::max(1.0, fillings);
  KeyedPrice price = cheapest_keyed(options_.machine, figures);
  price.ns = price.ns * fillings / options_.machine.threads + entries * stored_entry;
  price.bytes += entries * (figures.block * figures.scalar_bytes + 8);
  return price;
}

IndexSet CostModel::bound_by(const std::vector<IndexId>& loops, std::size_t depth, StatementRange range) const {
  IndexSet bound = 0;
  for (std::size_t loop = 0; loop < std::min(depth, loops.size()); ++loop) bound = inside(bound, loops[loop], range);
  return bound;
}

KeyedPrice CostModel::drain(IndexSet bound, IndexId index, StatementRange range) const {
  if (!departs(bound, index, range)) return {};
  // Every product is an insertion: sums inside the last level of the key are rare.
  const double inserts = iterations_below(range.last, bound) / std::max(1.0, result_->block());
  return cheapest_keyed(options_.machine, result_->workspace(bound, inserts));
}

// An entry is made where its last coordinate is bound, unless the workspace that is drained pays for it. Values at the
// positions of an operand are written where the operand streams.
CostModel::Movement CostModel::write_sparse(std::size_t statement, IndexSet bound, IndexId index, bool drained) const {
  const double unit = statements_[statement].target->scalar_bytes();
  const std::size_t from = options_.machine.cache_bytes[2] < result_->bytes() ? 3 : 2;
  if (!result_->completes(bound, index)) {
    const bool in_block = contains(result_->modes(), index) && !contains(index_set(result_->order()), index);
    return in_block ? Movement{unit, unit / options_.machine.stream[1], 0} : Movement{};
  }
  if (drained) return {};
  const double append = result_->shares_pattern() ? 0 : result_->append_ns() / 2;  // counted twice: read and written
  return {unit, unit / options_.machine.stream[from], append};
}

}  // namespace weft
