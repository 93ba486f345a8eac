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
/// Of the second cache: what is gathered from less stays there beside the rest.
constexpr std::uint64_t large_part = 4;
/// Of 4 lines. A row of one line is there soon: kjv_trigram, rank 8, two factors of 816 KB: 0.56 ms, fetched ahead 0.66.
constexpr std::uint64_t long_row_bytes = 256;

bool is_dense_input(const loop::Storage& storage) {
  return storage.role == loop::Role::input && std::ranges::all_of(storage.levels, [](const Level& level) { return is_dense(level); });
}

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

namespace {

/// Whether large dense inputs that a nest gathers long rows from, by turns, push each other out of the second cache, as both factors of
/// MTTKRP: several of half of it do, beside what streams by. TTTP of 2000^3, two factors of 512 KB, rank 32: 12.8 ms, fetched ahead 11.3,
/// on two threads 11.5 and 8.0. Inputs with the index of the root are read once.
bool push_out(const Nest& nest, const Network& network) {
  std::vector<std::uint64_t> of_storage(nest.storages.size(), 0);
  for (const NestStatement& statement : nest.statements) {
    for (const NestAccess& access : statement.factors) {
      const loop::Storage& storage = nest.storages[access.storage].storage;
      const bool streams = statement.loops.empty() || std::ranges::find(access.indices, statement.loops.front()) != access.indices.end();
      if (streams || !is_dense_input(storage) || access.indices.empty()) continue;
      const std::uint64_t row = network.indices[access.indices.back()].extent;
      if (row >= long_row_bytes / scalar_bytes(storage.scalar)) of_storage[access.storage] = dense_bytes(access, storage.scalar, network);
    }
  }
  std::uint64_t together = 0;
  std::size_t inputs = 0;
  for (const std::uint64_t bytes : of_storage) {
    if (bytes <= nest.caches.second / large_part) continue;
    together += std::min(bytes, nest.caches.third);
    ++inputs;
  }
  return together > (inputs > 1 ? nest.caches.second / 2 : nest.caches.second);
}

}  // namespace

std::uint32_t prefetch_distance(const Nest& nest, const Network& network, const std::vector<LocatedLevel>& bound, bool root) {
  const std::uint64_t far = nest.caches.second / (push_out(nest, network) ? large_part : 1);
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
    if (all_dense && bytes > (scattered ? written_bytes : far)) most = std::max(most, bytes);
    if (is_dense(levels[each.level]) && each.level + 1 < levels.size() && is_compressed(levels[each.level + 1].kind))
      gathers_rows = true;
  }
  if (most == 0) return gathers_rows ? 8 : 0;
  return most <= nest.caches.third ? 12 : 24;
}

}  // namespace weft
