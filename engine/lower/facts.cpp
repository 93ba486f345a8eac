#include "engine/lower/facts.h"

#include <algorithm>
#include <set>

namespace weft {
namespace {

/// A kernel is cheap but not free: the extent of a longer dense loop is a word of the frame.
constexpr std::uint64_t longest_fixed_loop = 256;

class FixedIndices {
 public:
  FixedIndices(const LoweredNest& nest, const Network& network) : nest_(nest), network_(network) {
    visit(nest.program.body, 0);
  }
  const std::set<loop::IndexId>& indices() const { return indices_; }

 private:
  void visit(const loop::Block& block, std::size_t depth) {
    for (const loop::Statement& statement : block) {
      if (const auto* loop = std::get_if<loop::For>(&statement.node)) {
        if (is_fixed(*loop, depth)) indices_.insert(loop->index);
        visit(loop->body, depth + 1);
      } else if (const auto* with = std::get_if<loop::With>(&statement.node)) {
        visit(with->body, depth);
      }
    }
  }

  bool is_fixed(const loop::For& loop, std::size_t depth) const {
    if (loop.marks.vector) return true;
    const bool is_driven =
        std::ranges::any_of(loop.steps, [](const loop::Step& step) { return step.use == loop::Use::drive; });
    return depth > 0 && !is_driven && network_.indices[nest_.indices[loop.index]].extent <= longest_fixed_loop;
  }

  const LoweredNest& nest_;
  const Network& network_;
  std::set<loop::IndexId> indices_;
};

}  // namespace

std::vector<loop::Fact> facts(const LoweredNest& nest, const Network& network, const std::vector<bool>& finite) {
  std::vector<loop::Fact> result;
  const FixedIndices fixed(nest, network);
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
