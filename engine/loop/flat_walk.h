// Flat walks: loops over the levels of a chain that run as one loop over its entries. Pure functions of a Program.
//
// Where T is {dense, nonunique, singleton}, `for j: drive T` inside `for i` runs once for every j of the row, a run of entries, and
// `for k: drive T` inside it over that run. Marked @flat, the two are one loop over the entries of the row that reads j and k of each:
// what stands between them is done again for every entry, and no loop ends after one or two of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/loop/program.h"

namespace weft::loop {

/// The access whose chain drives the loop and from which level on; `bound`: levels of each access that are bound around the loop.
struct FlatWalk {
  AccessId access = 0;
  std::uint32_t level = 0;         ///< nonunique or singleton, above a singleton
  std::vector<const For*> loops;   ///< outermost first, one per level to the end of the chain
};

/// The walk that begins with a loop marked @flat, or what is in its way.
Expected<FlatWalk> flat_walk(const Program& program, const For& each, std::span<const std::uint32_t> bound);

/// The last level of the chain that a level belongs to; the level itself if nothing of a chain is below it.
std::uint32_t last_of_chain(const std::vector<Level>& levels, std::uint32_t level);

}  // namespace weft::loop
