#include "runtime/fibers.h"

#include <algorithm>
#include <cmath>

#include "runtime/blocks.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/wide.h"

namespace weft {
namespace {

/// Exact sums, so that the figures do not depend on how the work was cut.
struct Sums {
  std::uint64_t fibers = 0;
  std::uint64_t children = 0;
  UnsignedWide squares = 0;  // of lengths near 2^64
  std::uint64_t maximum = 0;

  void add(std::uint64_t length) {
    ++fibers;
    children += length;
    squares += static_cast<UnsignedWide>(length) * length;
    maximum = std::max(maximum, length);
  }
  void add(const Sums& other) {
    fibers += other.fibers;
    children += other.children;
    squares += other.squares;
    maximum = std::max(maximum, other.maximum);
  }
  FiberLengths lengths() const {
    if (fibers == 0) return {};
    const auto count = static_cast<double>(fibers);
    const double mean = static_cast<double>(children) / count;
    const double variance = static_cast<double>(squares) / count - mean * mean;
    return {.mean = mean, .maximum = maximum, .spread = std::sqrt(std::max(0.0, variance))};
  }
};

Sums total(const std::vector<Sums>& parts) {
  Sums all;
  for (const Sums& part : parts) all.add(part);
  return all;
}

Sums of_pos(const Tensor& tensor, std::size_t level, const Threads& threads) {
  const Blocks blocks(level == 0 ? 1 : tensor.positions(level - 1), threads);
  std::vector<Sums> parts(blocks.number);
  with_width(tensor.format().levels[level].pos_bits, [&]<class T>(T) {
    auto pos = tensor.levels()[level].pos.as<T>();
    for_blocks(threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      for (std::uint64_t p = begin; p < end; ++p) parts[block].add(pos[p + 1] - pos[p]);
    });
  });
  return total(parts);
}

/// Level `level` of the chain that begins at `first`: lengths are counted in distinct coordinates, and a fiber is a run
/// of equal coordinates of the chain's levels above.
Sums of_chain(const Tensor& tensor, std::size_t first, std::size_t level, const Threads& threads) {
  std::vector<Indices> crd;
  for (std::size_t l = first; l <= level; ++l) crd.emplace_back(tensor.levels()[l].crd, tensor.format().levels[l].crd_bits);
  auto same = [&](std::uint64_t p, std::size_t levels) {  // whether p continues the run of p - 1
    for (std::size_t l = 0; l < levels; ++l)
      if (crd[l][p] != crd[l][p - 1]) return false;
    return true;
  };
  const Indices pos(tensor.levels()[first].pos, tensor.format().levels[first].pos_bits);
  const Blocks blocks(pos.size() - 1, threads);
  std::vector<Sums> parts(blocks.number);
  for_blocks(threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    for (std::uint64_t parent = begin; parent < end; ++parent) {
      std::uint64_t length = 0;
      for (std::uint64_t p = pos[parent]; p < pos[parent + 1]; ++p) {
        const bool starts = p == pos[parent];
        if (!starts && level > first && !same(p, level - first)) parts[block].add(std::exchange(length, 0));
        length += starts || !same(p, level - first + 1);
      }
      if (level == first || length > 0) parts[block].add(length);
    }
  });
  return total(parts);
}

}  // namespace

FiberLengths fiber_lengths(const Tensor& tensor, std::size_t level, const Threads& threads) {
  const std::uint64_t parents = level == 0 ? 1 : tensor.positions(level - 1);
  if (parents == 0) return {};
  switch (tensor.format().levels[level].kind) {
    case LevelKind::dense: {
      const std::uint64_t extent = tensor.extent_of_level(level);
      return {.mean = static_cast<double>(extent), .maximum = extent, .spread = 0};
    }
    case LevelKind::singleton: {
      std::size_t first = level;
      while (is_per_parent(tensor.format().levels[first].kind)) --first;
      if (!begins_chain(tensor.format().levels[first].kind)) return {.mean = 1, .maximum = 1, .spread = 0};
      return of_chain(tensor, first, level, threads).lengths();
    }
    case LevelKind::compressed_nonunique: return of_chain(tensor, level, level, threads).lengths();
    case LevelKind::compressed:
    case LevelKind::hashed:
    case LevelKind::bitmap:
    case LevelKind::variable:
    case LevelKind::accumulator: break;
  }
  return of_pos(tensor, level, threads).lengths();
}

}  // namespace weft
