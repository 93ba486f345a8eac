// Loops over adjacent elements that run as one vector loop: pure functions of the Program, without LLVM.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/loop/program.h"

namespace weft {

/// Loops that stand directly in each other and are one vector loop over all their iterations, the outermost first. Of
/// several, every access used inside binds its last levels by all of them in this order, which are adjacent elements,
/// or no level by any of them.
using JoinedLoops = std::vector<const loop::For*>;

/// The loops that begin with `each`, which is part of the program, and are one vector loop; empty: `each` is an
/// ordinary loop. The loop that the kernel takes a range of is joined with none.
JoinedLoops joined_loops(const loop::Program& program, const loop::For& each);

/// The product of the extents, if it is known by facts and a number of 64 bits.
std::optional<std::uint64_t> known_elements(const loop::Program& program, const JoinedLoops& loops);

/// So few elements are known that their vectors are written one after the other.
bool is_unrolled(const loop::Program& program, const JoinedLoops& loops);

}  // namespace weft
