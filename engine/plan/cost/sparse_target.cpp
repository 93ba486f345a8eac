#include "engine/plan/cost/sparse_target.h"

#include <algorithm>

#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

constexpr double append_entry = 0.75;   // nanoseconds: capacity, coordinate, value, and whether anything was accumulated
// Of the result of the first run: written by a chunk, read and written again; per thread. Later runs write into what the first one left.
constexpr double assemble_byte = 0.08;
constexpr double coordinate_bytes = 4;
// Of an entry that is sorted, one of a matrix whose rows become columns (runtime/transposed_rows.h): 6 ns.
constexpr double share_of_transposing = 0.25;

// What converting an entry of a result takes, beside one that is sorted.
double converted_share(const ContractedTensor& result) {
  if (!result.delivered) return 0;
  const std::vector<Level>& levels = result.delivered->levels;
  const bool columns = levels.size() == 2 && !result.delivered->layout && is_dense(levels[0].kind) && is_compressed(levels[1].kind);
  return columns ? share_of_transposing : 1;
}

}  // namespace

SparseTarget::SparseTarget(const ContractedTensor& tensor, const std::vector<IndexId>& indices, ProductEstimate product,
                           std::optional<IndexId> next)
    : product_(std::move(product)),
      modes_(index_set(indices)),
      scalar_bytes_(scalar_bytes(tensor.scalar)),
      shares_pattern_(tensor.like.has_value()),
      next_(next),
      any_order_(tensor.storage == Storage::of_loops),
      converted_share_(converted_share(tensor)) {
  const std::size_t appended = appended_levels(tensor.layout.levels);
  for (std::size_t level = 0; level < indices.size(); ++level) {
    const IndexId index = indices[tensor.mode(level)];
    const bool in_key = any_order_ ? !contains(tensor.block, index) : level < appended;
    if (in_key) order_.push_back(index);
    else block_ *= product_.extent(index);
  }
  key_ = index_set(order_);
  // The order of the levels may be that of loops that are not known yet: their bytes are counted in one order for all.
  IndexSet above = 0;
  for (const IndexId index : members(key_)) {
    above |= one_index(index);
    bytes_ += coordinate_bytes * product_.distinct(above);
  }
  entries_ = product_.distinct(key_);
  bytes_ = shares_pattern_ ? 0 : bytes_;
  bytes_ += entries_ * block_ * scalar_bytes_;
}

bool SparseTarget::departs(IndexSet bound, IndexId index) const {
  if (shares_pattern_) return false;
  if (any_order_) return (key_ & ~bound) != 0 && !contains(key_, index);
  std::size_t direct = 0;
  while (direct < order_.size() && contains(bound, order_[direct])) ++direct;
  return direct < order_.size() && order_[direct] != index;
}

bool SparseTarget::completes(IndexSet bound, IndexId index) const {
  return contains(key_, index) && (key_ & ~bound) == one_index(index);
}

double SparseTarget::append_ns() const { return append_entry; }

KeyedWorkspace SparseTarget::workspace(IndexSet bound, double inserts) const {
  KeyedWorkspace workspace;
  const IndexSet direct = bound & key_;
  std::size_t modes = 0;
  for (const IndexId index : order_) {
    if (contains(direct, index)) continue;
    workspace.keys *= product_.extent(index);
    ++modes;
  }
  const double parents = direct == 0 ? 1 : product_.distinct(direct);
  workspace.entries = parents > 0 ? entries_ / std::max(1.0, parents) : 0;
  workspace.inserts = inserts;
  workspace.fillings = parents;
  workspace.block = block_;
  workspace.scalar_bytes = scalar_bytes_;
  workspace.one_mode = modes == 1;
  return workspace;
}

// Shared values are stored, and hardly ever cleared.
double SparseTarget::finishing_ns(double calls) const {
  return shares_pattern_ ? 0 : bytes_ * assemble_byte / std::max(1.0, calls);
}

double SparseTarget::converting_ns(const Machine& machine) const {
  return shares_pattern_ ? 0 : entries_ * converted_share_ * machine.convert_entry;
}

namespace {

// The accesses of operands whose product a step writes.
std::vector<TensorAccess> leaves_of(Steps steps, std::size_t writer) {
  std::vector<TensorAccess> leaves;
  std::vector<std::size_t> open{writer};
  while (!open.empty()) {
    const Contraction& step = steps[open.back()];
    open.pop_back();
    for (const ScheduledAccess& factor : step.factors) {
      const NamedTensor& tensor = steps.tensor(factor.tensor);
      if (tensor.role == TensorRole::operand) leaves.push_back({tensor.tensor, factor.indices});
      else open.push_back(writer_of(steps, factor.tensor));
    }
  }
  return leaves;
}

}  // namespace

JoinSet product_join(Steps steps, std::size_t writer, const std::vector<Occurrence>& all) {
  return join_of(leaves_of(steps, writer), all);
}

JoinSet written_join(Steps steps, std::size_t writer, const std::vector<Occurrence>& all) {
  const IndexSet written = index_set(steps[writer].target.indices);
  JoinSet kept = 0;
  for (const Occurrence& occurrence : all) kept |= occurrence.modes_over(written);
  return product_join(steps, writer, all) & kept;
}

ProductEstimate estimate_of(Steps steps, std::size_t writer, const Network& network, const std::vector<OperandFacts>& operands,
                            const std::map<JoinSet, double>& joins, const std::map<std::string, double>& entries) {
  ProductEstimate product(network, operands, leaves_of(steps, writer));
  // Several assignments number their operands each for themselves.
  if (network.assignments.size() > 1) return product;
  if (writer + 1 == steps.size()) product.take_counted(network, network.assignments.front().result, entries);
  if (joins.empty()) return product;
  const std::vector<Occurrence> all = occurrences(network, operands);
  product.scale_contributions(counted_ratio(product_join(steps, writer, all), all, joins));
  product.scale_let_through(index_set(steps[writer].target.indices), counted_ratio(written_join(steps, writer, all), all, joins));
  return product;
}

}  // namespace weft
