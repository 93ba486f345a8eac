#include "engine/lower/prefetch.h"

#include "engine/lower/drains.h"
#include "runtime/level_traits.h"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;
/// Rows that are written too: of 26 MB 0.68 of the time (transposed SpMM, 16 columns), of 1.6 to 3.7 MB up to 1.1 times.
constexpr std::uint64_t written_bytes = 8 * mebibyte;
constexpr std::uint64_t l3_bytes = 32 * mebibyte;  // rows are fetched further ahead when they come from memory

}  // namespace

std::uint64_t dense_bytes(const NestAccess& access, Scalar scalar, const Network& network) {
  std::uint64_t bytes = scalar_bytes(scalar);
  for (const IndexId index : access.indices) {
    const std::uint64_t extent = network.indices[index].extent;
    if (extent == 0) return 0;
    if (bytes > std::numeric_limits<std::uint64_t>::max() / extent) return std::numeric_limits<std::uint64_t>::max();
    bytes *= extent;
  }
  return bytes;
}

std::uint32_t prefetch_distance(const Nest& nest, const Network& network, const std::vector<LocatedLevel>& bound, bool root) {
  std::uint64_t most = 0;
  bool gathers_rows = false;
  for (const LocatedLevel& each : bound) {
    const loop::Storage& storage = nest.storages[each.access->storage].storage;
    const bool scattered = storage.role == loop::Role::output && !root && !is_appended(nest.storages[each.access->storage]) &&
                           !nest.storages[each.access->storage].like;
    if (storage.role != loop::Role::input && !scattered) continue;
    // Single elements: of R[i,j,k] below loops over j and k.
    if (std::ranges::count(bound, each.access, &LocatedLevel::access) > 1) continue;
    const std::vector<Level>& levels = storage.levels;
    const bool all_dense = std::ranges::all_of(levels, [](const Level& level) { return is_dense(level); });
    const std::uint64_t bytes = dense_bytes(*each.access, storage.scalar, network);
    if (all_dense && bytes > (scattered ? written_bytes : l2_bytes)) most = std::max(most, bytes);
    if (is_dense(levels[each.level]) && each.level + 1 < levels.size() && is_compressed(levels[each.level + 1].kind))
      gathers_rows = true;
  }
  if (most <= l2_bytes) return gathers_rows ? 8 : 0;
  return most <= l3_bytes ? 12 : 24;
}

}  // namespace weft
