// Networks whose coordinates are spread over extents beyond what 32 bits, or memory, can hold.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "oracle/dice.h"
#include "oracle/long_extents.h"
#include "oracle/random_forest.h"
#include "oracle/random_network.h"
#include "oracle/sparse_result.h"

namespace weft::test {

std::uint64_t long_extent(Dice& dice);

/// Dense and bitmap levels over long extents become compressed or hashed ones, and all others wide enough.
void store_sparsely(Format& format, const std::vector<std::uint64_t>& extents, Dice& dice);

/// The network with some of its extents made long, at least one where any is above 1: half of the coordinates stay at the beginning,
/// the others go to the end. Indices of one extent stay of one extent, so that operands may stand where they stood. The extents in
/// `kept` stay, for a result in memory of the host.
RandomNetwork stretched(RandomNetwork random, Dice& dice, const std::vector<std::uint64_t>& kept = {});
/// The same of a network whose result is stored in a format that is asked for.
RequestedNetwork stretched(RequestedNetwork requested, Dice& dice);
/// The same of several assignments. What is wanted is stored in formats that can be.
RandomForest stretched(RandomForest random, Dice& dice);

/// What a test stretches of the networks that it draws: none (those that are about dense operands), those of one seed in five, or all.
enum class Extents { short_ones, some_long, long_ones };

/// The dice that a network of this seed is stretched by, if it is.
std::optional<Dice> stretching(std::uint64_t seed, Extents extents = Extents::some_long);

/// Stretched if the seed says so, else as it was.
template <class Drawn>
Drawn stretched(Drawn drawn, std::uint64_t seed, Extents extents = Extents::some_long) {
  std::optional<Dice> dice = stretching(seed, extents);
  return dice ? stretched(std::move(drawn), *dice) : drawn;
}

}  // namespace weft::test
