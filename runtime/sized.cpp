// The arrays of an appended output whose entries were counted before they are made.
#include <algorithm>

#include "runtime/appended.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {

Expected<Tensor> sized(const AppendedShape& shape, const std::vector<std::vector<std::uint64_t>>& entries,
                       const Memory& memory) {
  TensorArrays tensor;
  tensor.format = shape.format;
  tensor.extents = shape.extents;
  tensor.levels.resize(shape.format.order());
  std::uint64_t parents = 1;
  for (std::size_t level = 0; level < shape.format.order(); ++level) {
    if (is_dense(shape.format.levels[level].kind)) {
      parents = saturating_product(parents, shape.extent_of_level(level));
      continue;
    }
    std::uint64_t total = 0;
    for (const std::vector<std::uint64_t>& of_chunk : entries) total += of_chunk[level];
    Level& stored = tensor.format.levels[level];
    widen(stored.pos_bits, position_bits(total));
    const std::uint64_t ends = parents == saturated ? saturated : parents + 1;
    auto pos = Buffer::allocate(saturating_product(ends, stored.pos_bits / 8), memory, shape.name);
    if (!pos) return std::unexpected(pos.error());
    auto crd = Buffer::allocate(saturating_product(total, stored.crd_bits / 8), memory, shape.name);
    if (!crd) return std::unexpected(crd.error());
    tensor.levels[level].pos = std::move(*pos);
    tensor.levels[level].crd = std::move(*crd);
    if (level == shape.last_compressed()) {
      auto values = Buffer::allocate(saturating_product(total, shape.block_bytes()), memory, shape.name);
      if (!values) return std::unexpected(values.error());
      tensor.values = std::move(*values);
    }
    parents = total;
  }
  return made(std::move(tensor));
}

}  // namespace weft
