// Fibers that facts bound to a few entries, and what code makes of them. Pure functions of a Program.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/loop/program.h"
#include "engine/network/code_forms.h"

namespace weft::loop {

/// That the fibers of a level are short, by a fact, or as a singleton below a level that is none of its chain: of {dense, singleton} the
/// second has one entry at each position. Nothing: they may not be.
std::optional<FiberFact> short_fiber(const Program& program, StorageId storage, std::uint32_t level);

/// The loop runs over one short fiber and is written out. Where the fiber has two entries or more, and not always as many,
/// only if nothing loops inside: y(i,r) = M(i,j) * x(j,r) with at most two entries in a row took 1.17 times as long written
/// out, y(i) = M(i,j) * x(j) 0.83 times.
bool is_short_loop(const Program& program, const For& each);

/// Whether code is another for knowing it: the level is located, or loops over it are written out.
bool is_used(const Program& program, const FiberFact& fact);

}  // namespace weft::loop
