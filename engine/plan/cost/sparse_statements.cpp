// What statements' models say of sparse intermediates.
#include <algorithm>

#include "engine/plan/cost/statement_models.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

constexpr double stored_entry = 2.5;  // appending and assembling an entry of an intermediate, all threads together

// What filters when these indices are bound.
JoinSet bound_modes(const StatementModels::Statement::FilteringModes& modes, IndexSet bound) {
  JoinSet found = 0;
  for (const auto& [bit, index] : modes) {
    if (contains(bound, index)) found |= bit;
  }
  return found;
}

}  // namespace

void StatementModels::describe_storage(const ContractedTensor& tensor, const std::vector<IndexId>& indices, Statement& writer) {
  if (writer.keyed == 0) return;
  writer.inside_only = tensor.storage == Storage::keyed;
  for (std::size_t level = 0; level < appended_levels(tensor.layout.levels); ++level) {
    writer.compressed.push_back(indices[tensor.layout.mode_order[level]]);
  }
}

// A workspace is read in the order of the reader's loops, a stored intermediate in that of its format. The block of the
// latter has one order here, whatever the loops of its writer make of it.
std::shared_ptr<AccessModel> StatementModels::sparse_factor(const ContractedTensor& tensor, const ScheduledAccess& factor,
                                                            const Statement& writer) {
  ContractedTensor stored = tensor;
  stored.storage = Storage::stored;
  const auto model = [&](const ScheduledAccess& access, const AccessPath& path) {
    const auto statistics = estimated_statistics(*writer.product, network_, access.indices, stored.layout, true);
    return std::make_shared<AccessModel>(access, stored, path, network_, operands_, std::make_shared<const Statistics>(statistics));
  };
  std::shared_ptr<AccessModel> access;
  if (!writer.compressed.empty()) {
    std::vector<std::uint32_t>& order = stored.layout.mode_order;
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(writer.compressed.size()), order.end());
    access = model(factor, AccessPath{});
  } else {
    const bool whole = writer.keyed == index_set(factor.indices);
    const ScheduledAccess keyed{factor.tensor, whole ? factor.indices : members(writer.keyed)};
    stored.layout = sparse_format(keyed.indices.size(), tensor.scalar);
    access = model(keyed, AccessPath::of_loops(0));
    access->add_block(index_set(factor.indices) & ~writer.keyed, network_);
  }
  access->set_contiguous(writer.target->contiguous());
  return access;
}

const KeyedPrice& StatementModels::workspace(std::uint32_t writer, IndexSet shared) {
  if (const KeyedPrice* known = workspaces_.find(shared, writer)) return *known;
  workspaces_.insert(shared, writer, made_workspace(writer, shared));
  return *workspaces_.find(shared, writer);
}

// Stored, it has its modes in the order of its writer's loops: at best all but the last are bound in this order, and
// that one is gathered in a workspace for each combination of the others. What is inserted, and into how many entries it is
// summed, follows the counted joins as the loops of the writer do.
KeyedPrice StatementModels::made_workspace(std::uint32_t writer, IndexSet shared) {
  const Statement& statement = *statements_[writer];
  const double joined = join_ratio(bound_modes(statement.filtering_modes, statement.indices));
  const double entered = join_ratio(bound_modes(statement.filtering_modes, shared));
  const ProductEstimate& product = *statement.product;
  const IndexSet key = statement.keyed & ~shared;
  const double entries = product.distinct(shared | key);
  // Without a sum the entries come in the order in which they are appended.
  if (!statement.compressed.empty() && (statement.indices & ~statement.target->indices()) == 0) {
    return {LevelKind::accumulator, entries * stored_entry, 0};
  }
  KeyedWorkspace figures;
  figures.block = combinations(statement.target->indices() & ~statement.keyed & ~shared);
  figures.scalar_bytes = statement.target->scalar_bytes();
  figures.keys = combinations(key);
  figures.runs = options_.calls;
  figures.one_mode = (key & (key - 1)) == 0;
  figures.ordered = !figures.one_mode;
  const double more = entered > 0 ? joined / entered : 1;
  figures.inserts = iterations_below(writer, shared) * more / std::max(1.0, figures.block);
  if (shared != 0) {
    figures.fillings = product.distinct(shared);
    figures.entries = entries / std::max(1.0, figures.fillings);
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
  figures.fillings = fillings;
  figures.entries = entries / std::max(1.0, fillings);
  figures.inserts /= std::max(1.0, fillings);
  KeyedPrice price = cheapest_keyed(options_.machine, figures);
  price.ns = price.ns * fillings / options_.machine.threads + entries * stored_entry;
  price.bytes += entries * (figures.block * figures.scalar_bytes + 8);
  return price;
}

}  // namespace weft
