#include "engine/lower/widths.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/indices.h"
#include "runtime/widths.h"

namespace weft {

Nest with_workspace_widths(Nest nest, const Network& network) {
  for (NestStorage& made : nest.storages) {
    if (made.storage.role != loop::Role::workspace) continue;
    std::vector<Level>& levels = made.storage.levels;
    for (std::size_t begin = 0; begin < levels.size();) {
      std::size_t end = begin + 1;
      while (end < levels.size() && levels[end].joined) ++end;
      unsigned bits = 0;
      for (std::size_t level = begin; level < end; ++level) {
        bits = std::max(bits, needed_coordinate_bits(levels[level].kind, network.indices[made.indices[level]].extent));
      }
      for (; begin < end; ++begin) widen(levels[begin].crd_bits, bits);
    }
  }
  return nest;
}

Expected<void> check_widths(const LoweredNest& nest, const Network& network) {
  for (const loop::Access& access : nest.program.accesses) {
    const loop::Storage& storage = nest.program.storages[access.storage];
    for (std::size_t level = 0; level < storage.levels.size(); ++level) {
      const Index& index = network.indices[nest.indices[access.indices[level]]];
      const loop::IndexDefinition* const given = loop::definition_of(nest.program, access.indices[level]);
      const std::uint64_t extent = given == nullptr ? index.extent : loop::given_extent(*given, index.extent);
      const unsigned needed = needed_coordinate_bits(storage.levels[level].kind, extent);
      if (storage.levels[level].crd_bits >= needed) continue;
      return internal_error(fmt::format("lower: level {} of {} has coordinates of {} bits, the extent {} of {} needs {}", level,
                                        storage.name, storage.levels[level].crd_bits, extent, index.name, needed));
    }
  }
  return {};
}

}  // namespace weft
