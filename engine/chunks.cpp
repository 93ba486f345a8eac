#include "engine/chunks.h"

#include "runtime/level_traits.h"

#include <algorithm>

namespace weft {
namespace {

std::uint64_t element(const Buffer& buffer, unsigned bits, std::uint64_t position) {
  return bits == 32 ? buffer.as<std::uint32_t>()[position] : buffer.as<std::uint64_t>()[position];
}

/// Stored entries, or slots and bits, in front of root position `position`; the arrays of pos make this a walk down the levels.
std::uint64_t leaves_before(const Tensor& tensor, std::uint64_t position) {
  for (std::size_t level = 1; level < tensor.order(); ++level) {
    const Level& stored = tensor.format().levels[level];
    if (is_by_extent(stored.kind)) position *= tensor.extent_of_level(level);
    if (has_pos(stored.kind)) position = element(tensor.levels()[level].pos, stored.pos_bits, position);
  }
  return position;
}

std::uint64_t root_coordinate(const Tensor& tensor, std::uint64_t position) {
  const Level& root = tensor.format().levels[0];
  return is_dense(root.kind) || has_bits(root.kind) ? position : element(tensor.levels()[0].crd, root.crd_bits, position);
}

/// The first root position with at least `leaves` entries in front of it.
std::uint64_t position_of_leaf(const Tensor& tensor, std::uint64_t leaves, std::uint64_t positions) {
  std::uint64_t low = 0;
  std::uint64_t high = positions;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (leaves_before(tensor, middle) < leaves) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

const loop::For* root_loop(const loop::Program& program) {
  return program.body.size() == 1 ? std::get_if<loop::For>(&program.body.front().node) : nullptr;
}

bool counts_entries(const loop::Program& program) {
  const loop::For* root = root_loop(program);
  return root != nullptr && std::ranges::any_of(root->marks.parallel, [](const loop::ParallelTarget& target) {
           return target.reduction == loop::Reduction::count;
         });
}

std::vector<Chunk> cut_root(std::uint64_t extent, std::size_t count, const Tensor* tensor) {
  std::vector<Chunk> chunks;
  if (extent == 0) return chunks;
  // Slots of a table are in no order of coordinates.
  const bool ordered = tensor != nullptr && !has_slots(tensor->format().levels[0].kind);
  const std::uint64_t positions = ordered ? tensor->positions(0) : 0;
  const std::uint64_t leaves = positions > 0 ? leaves_before(*tensor, positions) : 0;
  std::uint64_t begin = 0;
  for (std::size_t chunk = 1; chunk <= count && begin < extent; ++chunk) {
    std::uint64_t end = extent;
    if (chunk < count && leaves > 0) {
      const auto share = static_cast<std::uint64_t>(static_cast<long double>(leaves) * chunk / count);
      const std::uint64_t position = position_of_leaf(*tensor, share, positions);
      end = position < positions ? root_coordinate(*tensor, position) : extent;
      // A cut inside the entries of a coordinate that already begins this chunk: that coordinate is heavy, and alone.
      if (end == begin) end = begin + 1;
    } else if (chunk < count) {
      end = static_cast<std::uint64_t>(static_cast<long double>(extent) * chunk / count);
    }
    end = std::min(end, extent);
    if (end <= begin) continue;
    chunks.push_back({begin, end});
    begin = end;
  }
  if (begin < extent) chunks.push_back({begin, extent});
  return chunks;
}

}  // namespace weft
