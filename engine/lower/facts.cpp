#include "engine/lower/facts.h"

#include <algorithm>
#include <set>

#include "engine/loop/dense_product.h"
#include "engine/loop/overloaded.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// A kernel is cheap but not free: the extent of a longer dense loop is a word of the frame.
constexpr std::uint64_t longest_fixed_loop = 256;

class FixedIndices {
 public:
  FixedIndices(const LoweredNest& nest, const Network& network, bool presence_counts)
      : nest_(nest), network_(network), presence_counts_(presence_counts) {
    visit(nest.program.body, 0, false);
    visit_products(nest.program.body, std::vector<std::uint32_t>(nest.program.accesses.size(), 0));
  }
  const std::set<loop::IndexId>& indices() const { return indices_; }

 private:
  void visit(const loop::Block& block, std::size_t depth, bool in_with) {
    for (const loop::Statement& statement : block) {
      if (const auto* loop = std::get_if<loop::For>(&statement.node)) {
        if (is_fixed(*loop, depth, in_with)) indices_.insert(loop->index);
        visit(loop->body, depth + 1, in_with);
      } else if (const auto* with = std::get_if<loop::With>(&statement.node)) {
        visit(with->body, depth, true);
      }
    }
  }

  /// Of C(i,k) = A(i,j) * B(k,j) all columns are transposed to be added to several rows, which takes more than it saves if these are few;
  /// which of several loops has them is told by the extents of all. `bound`: levels of each access that are, around the block.
  void visit_products(const loop::Block& block, const std::vector<std::uint32_t>& bound) {
    for (const loop::Statement& statement : block)
      std::visit(loop::Overloaded{[&](const loop::For& each) {
                                    if (takes_product(each, bound)) return;
                                    visit_products(each.body, bound_by(each.steps, bound));
                                  },
                                  [&](const loop::Bind& bind) { visit_products(bind.body, bound_by(bind.steps, bound)); },
                                  [&](const loop::With& with) { visit_products(with.body, bound); },
                                  [](const loop::Accumulate&) {}},
                 statement.node);
  }

  bool takes_product(const loop::For& each, const std::vector<std::uint32_t>& bound) {
    const auto product = loop::dense_product(nest_.program, each, bound);
    if (!product) return false;
    if (nest_.program.accesses[product->right].indices.back() == product->column->index) return true;
    indices_.insert({product->row->index, product->column->index});
    for (const loop::For* outer : product->outer) indices_.insert(outer->index);
    return true;
  }

  static std::vector<std::uint32_t> bound_by(const std::vector<loop::Step>& steps, std::vector<std::uint32_t> bound) {
    for (const loop::Step& step : steps) ++bound[step.access];
    return bound;
  }

  bool is_fixed(const loop::For& loop, std::size_t depth, bool in_with) const {
    const bool is_driven =
        std::ranges::any_of(loop.steps, [](const loop::Step& step) { return step.use == loop::Use::drive; });
    if (loop.marks.vector) return !is_driven;
    // That a workspace is accumulated at all must be proven, and a loop of unknown extent may not run.
    if (in_with && !is_driven && presence_counts_) return true;
    return depth > 0 && !is_driven && network_.indices[nest_.indices[loop.index]].extent <= longest_fixed_loop;
  }

  const LoweredNest& nest_;
  const Network& network_;
  bool presence_counts_;
  std::set<loop::IndexId> indices_;
};

}  // namespace

std::vector<loop::Fact> facts(const LoweredNest& nest, const Network& network, const std::vector<bool>& finite) {
  std::vector<loop::Fact> result;
  // Beside NaN, and where entries of a result are those that something was added to, an absent number is no zero.
  bool presence_counts = false;
  for (loop::StorageId storage = 0; storage < nest.program.storages.size(); ++storage) {
    const std::uint32_t tensor = nest.tensors[storage];
    const loop::Storage& stored = nest.program.storages[storage];
    const bool is_finite = stored.role != loop::Role::input || (tensor < finite.size() && finite[tensor]);
    const bool is_sparse_result = stored.role == loop::Role::output &&
                                  std::ranges::any_of(stored.levels, [](const Level& level) { return is_sparse(level.kind); });
    presence_counts = presence_counts || !is_finite || is_sparse_result;
  }
  const FixedIndices fixed(nest, network, presence_counts);
  for (const loop::IndexId index : fixed.indices()) {
    result.push_back(loop::ExtentFact{index, network.indices[nest.indices[index]].extent});
  }
  const bool has_workspace = std::ranges::any_of(
      nest.program.storages, [](const loop::Storage& storage) { return storage.role == loop::Role::workspace; });
  for (loop::StorageId storage = 0; has_workspace && storage < nest.program.storages.size(); ++storage) {
    const std::uint32_t tensor = nest.tensors[storage];
    if (nest.program.storages[storage].role == loop::Role::input && tensor < finite.size() && finite[tensor]) {
      result.push_back(loop::FiniteFact{storage});
    }
  }
  return result;
}

}  // namespace weft
