#include "engine/lower/gathers.h"

#include <algorithm>

#include "engine/lower/prefetch.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

/// Entries of a fiber that fill a vector of doubles. SpMV of 200,000 columns with 20 a row is 1.5 times as fast so; by hand, 2.9 a row
/// were 8 % slower. Of fewer columns, whose x is found in the second cache, it takes 1.2 to 2.6 times as long for matrices of meshes.
constexpr double filled_vector = 8;

bool gathers(const Nest& nest, std::size_t number, const Network& network, const FiberMeans& means) {
  const NestStatement& statement = nest.statements[number];
  if (statement.loops.size() < 2) return false;
  const std::size_t after = number + 1 < nest.statements.size() ? nest.statements[number + 1].fused : 0;
  if (std::max<std::size_t>(statement.fused, after) == statement.loops.size()) return false;  // not alone in its innermost loop
  const IndexId index = statement.loops.back();
  if (first_level_of(statement.target, index) < statement.target.indices.size()) return false;
  bool long_fibers = false;
  bool far = false;
  std::size_t drivers = 0;
  for (const NestAccess& factor : statement.factors) {
    const NestStorage& storage = nest.storages[factor.storage];
    for (std::size_t level = 0; level < factor.indices.size(); ++level)
      if (storage.is_sum(level) && std::ranges::count(storage.indices_at(factor, level), index) > 0) return false;  // apart, if there
    const std::size_t level = first_level_of(factor, index);
    if (level == factor.indices.size()) continue;
    if (storage.storage.role != loop::Role::input || level + 1 != factor.indices.size() || storage.is_located(level)) return false;
    const LevelKind kind = storage.storage.levels[level].kind;
    if (is_dense(kind)) {
      far = far || dense_bytes(factor, storage.storage.scalar, network) > nest.caches.second;
      continue;
    }
    if (!is_compressed(kind) || ++drivers > 1) return false;
    const std::uint32_t tensor = storage.tensor;
    long_fibers = tensor < means.size() && level < means[tensor].size() && means[tensor][level] >= filled_vector;
  }
  return drivers == 1 && long_fibers && far;
}

}  // namespace

Nest with_gathers(Nest nest, const Network& network, const FiberMeans& means) {
  for (std::size_t number = 0; number < nest.statements.size(); ++number)
    nest.statements[number].gathers = gathers(nest, number, network, means);
  return nest;
}

}  // namespace weft
