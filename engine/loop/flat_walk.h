// Flat walks: loops over several levels that run as one loop over their entries. Pure functions of a Program.
//
// Where T is {dense, nonunique, singleton}, `for j: drive T` inside `for i` runs once for every j of the row, a run of entries, and
// `for k: drive T` inside it over that run. Marked @flat, the two are one loop over the entries of the row that reads j and k of each:
// what stands between them is done again for every entry, and no loop ends after one or two of them.
//
// Where nothing asks for the coordinates of a level, its fibers need not be told apart either: in s(i) = T(i,j,k) * x(k) the entries below
// a row of i stand side by side, from the first below its first j to the last below its last one. Such loops carry no mark.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/loop/program.h"

namespace weft::loop {

/// The access whose chain drives the loop and from which level on; `bound`: levels of each access that are bound around the loop.
struct FlatWalk {
  AccessId access = 0;
  std::uint32_t level = 0;         ///< of a chain: nonunique or singleton, above a singleton
  std::vector<const For*> loops;   ///< outermost first, one per level; of a chain to its end
};

/// The walk that begins with a loop marked @flat, or what is in its way.
Expected<FlatWalk> flat_walk(const Program& program, const For& each, std::span<const std::uint32_t> bound);

/// The loops from this one on, outermost first, over levels of one input that nothing else stands in, and whose coordinates nothing asks
/// for but those of the last, which the input alone drives. Nothing where that is the loop itself.
std::optional<FlatWalk> walk_of_entries(const Program& program, const For& each, std::span<const std::uint32_t> bound);

/// Whether the loop binds nothing but a level of one access, at that level's own index, and nothing else has the index.
bool asks_for_no_coordinate(const Program& program, const For& each);

/// The last level of the chain that a level belongs to; the level itself if nothing of a chain is below it.
std::uint32_t last_of_chain(const std::vector<Level>& levels, std::uint32_t level);

}  // namespace weft::loop
