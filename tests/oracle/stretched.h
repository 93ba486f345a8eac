// Networks whose coordinates are spread over extents beyond what 32 bits, or memory, can hold.
#pragma once

#include <cstdint>

#include "oracle/dice.h"
#include "oracle/random_forest.h"
#include "oracle/random_network.h"

namespace weft::test {

/// One of 2^31 - 1, 2^31, 2^31 + 1, 2^32 - 1, 2^32, 2^32 + 1, 2^33 + 7, 2^40, 2^62.
std::uint64_t long_extent(Dice& dice);

/// Whether no level over such an extent may be dense.
bool is_long(std::uint64_t extent);

/// Dense and bitmap levels over long extents become compressed or hashed ones, and all others wide enough.
void store_sparsely(Format& format, const std::vector<std::uint64_t>& extents, Dice& dice);

/// The network with some of its extents made long, at least one where any is above 1: half of the coordinates stay at the beginning,
/// the others go to the end. Indices of one extent stay of one extent, so that operands may stand where they stood.
RandomNetwork stretched(RandomNetwork random, Dice& dice);
/// The same of several assignments. What is wanted is stored in formats that can be.
RandomForest stretched(RandomForest random, Dice& dice);

}  // namespace weft::test
