// The loops of a lowered nest, each with what is bound around it: what marks are decided by.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/lower/lower.h"

namespace weft {

/// How many levels of each access are bound around a loop.
using LevelsBound = std::vector<std::uint32_t>;

/// Every loop, outer before inner.
void for_each_loop(loop::Program& program, const std::function<void(loop::For&, const LevelsBound&)>& visit);

/// The extent of an index, if it is a fact.
std::optional<std::uint64_t> fixed_extent(const loop::Program& program, loop::IndexId index);

/// Entries of a fiber, in the mean, of the loop's driver, of several the shortest one's; 0: not known; nothing: no level drives it. `means`
/// by tensor of the schedule and level, 0 or missing: not known.
std::optional<double> fiber_entries(const LoweredNest& nest, const loop::For& each, const LevelsBound& bound,
                                    const std::vector<std::vector<double>>& means);

}  // namespace weft
