#include "engine/chunks.h"

#include "engine/plan/cost/memory_demand.h"
#include "runtime/level_traits.h"

#include <algorithm>

namespace weft {
namespace {

std::uint64_t element(const Buffer& buffer, unsigned bits, std::uint64_t position) {
  return bits == 32 ? buffer.as<std::uint32_t>()[position] : buffer.as<std::uint64_t>()[position];
}

/// How many positions of level `to` stand in front of position `position` of level `from`: the arrays of pos make this a walk down.
std::uint64_t descended(const Tensor& tensor, std::size_t from, std::uint64_t position, std::size_t to) {
  for (std::size_t level = from + 1; level <= to; ++level) {
    const Level& stored = tensor.format().levels[level];
    if (is_by_extent(stored.kind)) position *= tensor.extent_of_level(level);
    if (has_pos(stored.kind)) position = element(tensor.levels()[level].pos, stored.pos_bits, position);
  }
  return position;
}

/// Stored entries, or slots and bits, in front of a position.
std::uint64_t leaves_before(const Tensor& tensor, std::uint64_t position, std::size_t level = 0) {
  return descended(tensor, level, position, tensor.order() - 1);
}

std::uint64_t root_coordinate(const Tensor& tensor, std::uint64_t position) {
  const Level& root = tensor.format().levels[0];
  return is_dense(root.kind) || has_bits(root.kind) ? position : element(tensor.levels()[0].crd, root.crd_bits, position);
}

/// The first position in [low, high) of a level with at least `leaves` entries in front of it, or `high`.
std::uint64_t position_of_leaf(const Tensor& tensor, std::uint64_t leaves, std::uint64_t low, std::uint64_t high, std::size_t level = 0) {
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (leaves_before(tensor, middle, level) < leaves) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The first root position whose coordinate is not below `coordinate`.
std::uint64_t root_position(const Tensor& tensor, std::uint64_t coordinate) {
  std::uint64_t low = 0;
  std::uint64_t high = tensor.positions(0);
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (root_coordinate(tensor, middle) < coordinate) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::uint64_t share_of(std::uint64_t all, std::uint64_t number, std::uint64_t count) {
  return static_cast<std::uint64_t>(static_cast<long double>(all) * number / count);
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
      const std::uint64_t position = position_of_leaf(*tensor, share_of(leaves, chunk, count), 0, positions);
      end = position < positions ? root_coordinate(*tensor, position) : extent;
      // A cut inside the entries of a coordinate that already begins this chunk: that coordinate is heavy, and alone.
      if (end == begin) end = begin + 1;
    } else if (chunk < count) {
      end = share_of(extent, chunk, count);
    }
    end = std::min(end, extent);
    if (end <= begin) continue;
    chunks.push_back({begin, end});
    begin = end;
  }
  if (begin < extent) chunks.push_back({begin, extent});
  return chunks;
}

std::size_t private_chunks(std::uint64_t copy_bytes, std::uint64_t walked_bytes, unsigned threads, bool deterministic, double serial_ns) {
  constexpr double copied_per_ns = 16.0 / 3;  // each is cleared, read and added, at the rate of memory
  constexpr std::uint64_t small_copies = 16;  // usual_slots of them take at most so small a part of the operand walked
  if (deterministic) return usual_slots;
  if (threads == 1 || serial_ns * (1 - 1.0 / threads) < static_cast<double>(copy_bytes) / copied_per_ns) return 1;
  return copy_bytes * usual_slots <= walked_bytes / small_copies ? std::max<std::size_t>(threads, usual_slots) : threads;
}

std::vector<Chunk> with_cut_slices(const std::vector<Chunk>& chunks, const Tensor& tensor, std::uint32_t level, std::uint64_t most) {
  const std::uint64_t positions = tensor.positions(0);
  const std::uint64_t leaves = positions > 0 ? leaves_before(tensor, positions) : 0;
  most = std::max<std::uint64_t>(most, 1);
  // A slice with more than `most` entries has one whose number is a multiple of that.
  std::vector<Chunk> parts;
  for (std::uint64_t leaf = most; leaf <= leaves; leaf += most) {
    const std::uint64_t coordinate = root_coordinate(tensor, position_of_leaf(tensor, leaf, 0, positions) - 1);
    if (!parts.empty() && parts.back().begin >= coordinate) continue;
    const std::uint64_t first = root_position(tensor, coordinate);
    const std::uint64_t last = root_position(tensor, coordinate + 1);
    const std::uint64_t before = leaves_before(tensor, first);
    const std::uint64_t weight = leaves_before(tensor, last) - before;
    const std::uint64_t count = (weight + most - 1) / most;
    const std::uint64_t end = descended(tensor, 0, last, level);
    std::vector<Chunk> slice;
    for (std::uint64_t number = 1, from = descended(tensor, 0, first, level); number <= count && from < end; ++number) {
      const std::uint64_t to =
          number == count ? end : position_of_leaf(tensor, before + share_of(weight, number, count), from, end, level);
      if (to <= from) continue;
      slice.push_back({coordinate, coordinate + 1, from, to});
      from = to;
    }
    if (slice.size() > 1) parts.insert(parts.end(), slice.begin(), slice.end());
  }
  std::vector<Chunk> cut;
  auto part = parts.begin();
  for (const Chunk& chunk : chunks) {
    std::uint64_t begin = chunk.begin;
    for (; part != parts.end() && part->begin < chunk.end; ++part) {
      if (begin < part->begin) cut.push_back({begin, part->begin});
      cut.push_back(*part);
      begin = part->end;
    }
    if (begin < chunk.end) cut.push_back({begin, chunk.end});
  }
  return cut;
}

std::vector<Chunk> cut_entries(std::size_t count, const Tensor& tensor, std::uint32_t level) {
  std::vector<Chunk> chunks;
  const std::uint64_t positions = tensor.positions(level);
  const std::uint64_t leaves = positions > 0 ? leaves_before(tensor, positions, level) : 0;
  for (std::uint64_t number = 1, from = 0; number <= count && from < positions; ++number) {
    const std::uint64_t to =
        number == count ? positions : position_of_leaf(tensor, share_of(leaves, number, count), from, positions, level);
    if (to <= from) continue;
    const PositionRange root = ranges_above(tensor, level, from, to).front();
    chunks.push_back({root_coordinate(tensor, root.first), root_coordinate(tensor, root.last - 1) + 1, from, to});
    from = to;
  }
  return chunks;
}

std::uint64_t entries_of_chunk(const Chunk& chunk, const Tensor& tensor, std::uint32_t level) {
  if (chunk.is_part()) return leaves_before(tensor, chunk.last, level) - leaves_before(tensor, chunk.first, level);
  return leaves_before(tensor, root_position(tensor, chunk.end)) - leaves_before(tensor, root_position(tensor, chunk.begin));
}

std::vector<PositionRange> ranges_above(const Tensor& tensor, std::uint32_t level, std::uint64_t first, std::uint64_t last) {
  std::vector<PositionRange> ranges(level + 1);
  ranges[level] = {first, last};
  for (std::uint32_t below = level; below > 0; --below) {
    const PositionRange& range = ranges[below];
    // The last position above whose first one below is not behind `position`.
    const auto above = [&](std::uint64_t position) {
      std::uint64_t low = 0;
      std::uint64_t high = tensor.positions(below - 1);
      while (low + 1 < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (descended(tensor, below - 1, middle, below) <= position) {
          low = middle;
        } else {
          high = middle;
        }
      }
      return low;
    };
    ranges[below - 1] = {above(range.first), above(range.last - 1) + 1};
  }
  return ranges;
}

}  // namespace weft
