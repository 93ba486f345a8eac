// How many products of two rows wait before they are added to their common block together (engine/loop/batch.h). Asked by the price of a
// loop that adds to the block, and by the lowering that marks the loop around it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/network/code_forms.h"

namespace weft {

/// Of rows r and columns s in A[r,s] += u[r] * w[s], for a fiber of so many iterations in the mean; 0: each adds its product itself, for
/// the rows that wait are a copy and a look more per iteration, which fibers of one or two entries do not pay for. 16 columns: 32.
inline std::uint32_t batch_size(double iterations, double rows, double columns) {
  constexpr double filled_batch = 4;         // below, the block is read and written about as often as without
  constexpr std::uint64_t waiting_bytes = 8192;  // what waits stays in the first cache beside the block
  constexpr std::uint64_t fewest_products = 8;
  constexpr std::uint64_t most_products = 32;
  if (iterations < filled_batch || rows < 2 || columns < 1 || columns > static_cast<double>(register_elements)) return 0;
  return static_cast<std::uint32_t>(std::clamp(waiting_bytes / (8 * static_cast<std::uint64_t>(columns)), fewest_products, most_products));
}

/// Where a loop stands that adds products of two rows to a block, several of them together.
enum class Batch : std::uint8_t {
  none,
  rows,     ///< directly inside the loop whose products wait: over one of their rows
  columns,  ///< inside that, over what the other row has
  tile,     ///< a small block that stays in registers meanwhile
  product,  ///< inside a product of two dense matrices (engine/loop/dense_product.h), whose loops are tiles
};

}  // namespace weft
