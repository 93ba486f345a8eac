#include "runtime/open_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/blocks.h"
#include "runtime/dense_levels.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

bool has_ends(LevelKind kind) { return is_packed(kind); }

/// Dense position of every stored position of level `count` - 1, by walking down its levels.
std::vector<std::uint64_t> dense_positions(const Tensor& tensor, std::size_t count) {
  std::vector<std::uint64_t> positions{0};
  for (std::size_t level = 0; level < count; ++level) {
    const Level& kind = tensor.format().levels[level];
    const std::uint64_t extent = tensor.extent_of_level(level);
    std::vector<std::uint64_t> below;
    below.reserve(tensor.positions(level));
    if (is_dense(kind.kind)) {
      for (const std::uint64_t position : positions) {
        for (std::uint64_t coordinate = 0; coordinate < extent; ++coordinate) below.push_back(position * extent + coordinate);
      }
    } else {
      const Indices pos(tensor.levels()[level].pos, kind.pos_bits);
      const Indices crd(tensor.levels()[level].crd, kind.crd_bits);
      for (std::uint64_t parent = 0; parent < positions.size(); ++parent) {
        for (std::uint64_t entry = pos[parent]; entry < pos[parent + 1]; ++entry) {
          below.push_back(positions[parent] * extent + crd[entry]);
        }
      }
    }
    positions = std::move(below);
  }
  return positions;
}

}  // namespace

bool opens_levels(const Format& from, const Format& to) {
  if (from.mode_order != to.mode_order || from.scalar != to.scalar) return false;
  const std::size_t dense = leading_dense_levels(to.levels);
  if (dense == 0 || dense >= to.order() || leading_dense_levels(from.levels) >= dense || !has_ends(to.levels[dense].kind)) return false;
  for (std::size_t level = 0; level < to.order(); ++level) {
    const LevelKind kind = from.levels[level].kind;
    if (from.levels[level].strided || to.levels[level].strided) return false;
    if (level < dense ? is_sparse(kind) && !is_compressed(kind) : kind != to.levels[level].kind) {
      return false;
    }
  }
  return true;
}

Expected<Tensor> with_open_levels(const Tensor& tensor, const Format& format, const Resources& resources,
                                  std::string_view name) {
  const std::size_t dense = leading_dense_levels(format.levels);
  std::uint64_t parents = 1;
  for (std::size_t level = 0; level < dense; ++level) {
    if (__builtin_mul_overflow(parents, tensor.extent_of_level(level), &parents)) {
      return resource_error(fmt::format("{}: its dense levels have more than 2^64 positions; keep them compressed", name));
    }
  }
  const Level& kept = tensor.format().levels[dense];
  auto ends = Buffer::allocate(saturating_product(saturating_sum(parents, 1), kept.pos_bits / 8), resources.memory, name);
  if (!ends) return std::unexpected(ends.error());
  const std::vector<std::uint64_t> stored = dense_positions(tensor, dense);
  with_width(kept.pos_bits, [&]<class T>(T) {
    const auto from = tensor.levels()[dense].pos.as<T>();
    const auto to = ends->as<T>();
    const Blocks blocks(parents + 1, resources.threads);
    for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      // The end of what lies before dense position n is the end of the last stored position before n.
      auto next = static_cast<std::uint64_t>(std::ranges::lower_bound(stored, begin) - stored.begin());
      for (std::uint64_t n = begin; n < end; ++n) {
        while (next < stored.size() && stored[next] < n) ++next;
        to[n] = from[next];
      }
    });
  });
  TensorArrays result = tensor.arrays();
  for (std::size_t level = 0; level < dense; ++level) {
    result.format.levels[level] = Level{};
    result.levels[level] = LevelArrays{};
  }
  result.levels[dense].pos = std::move(*ends);
  return made(std::move(result));
}

}  // namespace weft
