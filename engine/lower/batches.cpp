#include "engine/lower/batches.h"

#include <algorithm>

#include "engine/loop/batch.h"
#include "engine/lower/loops.h"

namespace weft {
namespace {

/// What waits stays in the first cache beside the block.
constexpr std::uint64_t waiting_bytes = 8192;
constexpr std::uint64_t fewest_iterations = 8;
constexpr std::uint64_t most_iterations = 32;
/// Of a fiber: below, the block is read and written about as often as without.
constexpr double filled_batch = 4;
/// Rows of the inner side that are written out as vectors (register_elements of codegen).
constexpr std::uint64_t most_columns = 128;

/// Iterations whose rows wait; 0: each adds its product itself.
std::uint32_t batch_size(const LoweredNest& nest, const loop::For& each, const LevelsBound& bound,
                         const std::vector<std::vector<double>>& means) {
  const auto product = loop::batched_product(nest.program, each, bound);
  if (!product || !product->columns.back()->marks.vector) return 0;
  // A loop over a whole range of no known extent may be long.
  const double range = static_cast<double>(fixed_extent(nest.program, each.index).value_or(most_columns));
  if (fiber_entries(nest, each, bound, means).value_or(range) < filled_batch) return 0;
  std::uint64_t columns = 1;
  for (const loop::For* one : product->columns) {
    columns *= std::min(fixed_extent(nest.program, one->index).value_or(most_columns + 1), most_columns + 1);
    if (columns == 0 || columns > most_columns) return 0;
  }
  if (fixed_extent(nest.program, product->rows->index).value_or(most_columns) < 2) return 0;
  return static_cast<std::uint32_t>(std::clamp(waiting_bytes / (8 * columns), fewest_iterations, most_iterations));
}

}  // namespace

void mark_batches(LoweredNest& nest, const std::vector<std::vector<double>>& means) {
  for_each_loop(nest.program, [&](loop::For& each, const LevelsBound& bound) { each.marks.batch = batch_size(nest, each, bound, means); });
}

}  // namespace weft
