#include "engine/lower/batches.h"

#include "engine/loop/batch.h"
#include "engine/lower/loops.h"
#include "engine/plan/cost/batch_size.h"

namespace weft {
namespace {

/// Of an index whose extent is no fact: longer than rows are that wait, shorter than none.
constexpr double unknown_columns = 1e9;
constexpr double unknown_rows = 128;

/// Iterations whose rows wait; 0: each adds its product itself.
std::uint32_t waiting(const LoweredNest& nest, const loop::For& each, const LevelsBound& bound,
                      const std::vector<std::vector<double>>& means) {
  const auto product = loop::batched_product(nest.program, each, bound);
  if (!product || !product->columns.back()->marks.vector) return 0;
  const auto extent = [&](const loop::For* one, double unknown) {
    const auto known = fixed_extent(nest.program, one->index);
    return known ? static_cast<double>(*known) : unknown;
  };
  double columns = 1;
  for (const loop::For* one : product->columns) columns *= extent(one, unknown_columns);
  // A loop over a whole range of no known extent may be long.
  const double iterations = fiber_entries(nest, each, bound, means).value_or(extent(&each, unknown_rows));
  return batch_size(iterations, extent(product->rows, unknown_rows), columns);
}

}  // namespace

void mark_batches(LoweredNest& nest, const std::vector<std::vector<double>>& means) {
  for_each_loop(nest.program, [&](loop::For& each, const LevelsBound& bound) { each.marks.batch = waiting(nest, each, bound, means); });
}

}  // namespace weft
