#include "engine/lower/batches.h"

#include <algorithm>

#include "engine/loop/batch.h"

namespace weft {
namespace {

/// What waits stays in the first cache beside the block.
constexpr std::uint64_t waiting_bytes = 8192;
constexpr std::uint64_t fewest_iterations = 8;
constexpr std::uint64_t most_iterations = 32;
/// Of a fiber: below, the block is read and written about as often as without.
constexpr double filled_batch = 4;
/// Of the block: rows of the inner side that are written out as vectors (register_elements of codegen), and those that fill a tile.
constexpr std::uint64_t most_columns = 128;

class Batches {
 public:
  Batches(LoweredNest& nest, const std::vector<std::vector<double>>& means) : nest_(nest), means_(means) {}

  void mark(loop::Block& block, const std::vector<std::uint32_t>& bound) {
    for (loop::Statement& statement : block) {
      if (auto* each = std::get_if<loop::For>(&statement.node)) {
        each->marks.batch = size(*each, bound);
        mark(each->body, below(each->steps, bound));
      } else if (auto* late = std::get_if<loop::Bind>(&statement.node)) {
        mark(late->body, below(late->steps, bound));
      } else if (auto* live = std::get_if<loop::With>(&statement.node)) {
        mark(live->body, bound);
      }
    }
  }

 private:
  static std::vector<std::uint32_t> below(const std::vector<loop::Step>& steps, std::vector<std::uint32_t> bound) {
    for (const loop::Step& step : steps) ++bound[step.access];
    return bound;
  }

  std::uint64_t extent(loop::IndexId index) const {
    for (const loop::Fact& fact : nest_.program.facts)
      if (const auto* known = std::get_if<loop::ExtentFact>(&fact); known && known->index == index) return known->extent;
    return most_columns + 1;
  }

  /// Iterations whose rows wait; 0: each adds its product itself.
  std::uint32_t size(const loop::For& each, const std::vector<std::uint32_t>& bound) const {
    const auto product = loop::batched_product(nest_.program, each, bound);
    if (!product || !product->columns.back()->marks.vector || !is_long(each, bound)) return 0;
    std::uint64_t columns = 1;
    for (const loop::For* one : product->columns)
      columns = std::min(columns * std::min(extent(one->index), most_columns + 1), most_columns + 1);
    if (columns == 0 || columns > most_columns || extent(product->rows->index) < 2) return 0;
    return static_cast<std::uint32_t>(std::clamp(waiting_bytes / (8 * columns), fewest_iterations, most_iterations));
  }

  /// Its driver has long fibers; a loop over a whole range is as long as that.
  bool is_long(const loop::For& each, const std::vector<std::uint32_t>& bound) const {
    double entries = static_cast<double>(extent(each.index));
    for (const loop::Step& step : each.steps) {
      if (step.use != loop::Use::drive) continue;
      const std::uint32_t tensor = nest_.tensors[nest_.program.accesses[step.access].storage];
      const std::uint32_t level = bound[step.access];
      if (tensor >= means_.size() || level >= means_[tensor].size()) return false;
      entries = std::min(entries, means_[tensor][level]);
    }
    return entries >= filled_batch;
  }

  LoweredNest& nest_;
  const std::vector<std::vector<double>>& means_;
};

}  // namespace

void mark_batches(LoweredNest& nest, const std::vector<std::vector<double>>& means) {
  Batches(nest, means).mark(nest.program.body, std::vector<std::uint32_t>(nest.program.accesses.size(), 0));
}

}  // namespace weft
