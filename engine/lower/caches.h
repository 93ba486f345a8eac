// Caches as far as they decide what is fetched ahead.
#pragma once

#include <cstdint>

#include "engine/plan/machine.h"

namespace weft {

struct CacheBytes {
  std::uint64_t second = std::uint64_t{1} << 20;  ///< elements found within it are there soon, those beyond it are asked for ahead
  std::uint64_t third = std::uint64_t{32} << 20;  ///< rows are fetched further ahead when they come from memory

  bool operator==(const CacheBytes&) const = default;
};

inline CacheBytes caches_of(const Machine& machine) {
  return {static_cast<std::uint64_t>(machine.cache_bytes[1] / machine.usable_second_cache),
          static_cast<std::uint64_t>(machine.cache_bytes[2])};
}

}  // namespace weft
