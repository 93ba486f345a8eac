// What parentheses mean: products contracted along a tree, every intermediate a map that knows what is stored.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/network/network.h"
#include "oracle/random_forest.h"
#include "oracle/random_network.h"

namespace weft::test {

/// The factors contracted along a tree, by brute force at every node: an index is summed where no factor outside the node and not
/// the result has it. With integers, NaN and infinities as values there is one answer, in whatever order a sum is taken.
CoordinateMap contracted(const ContractionTree& tree, const std::vector<std::string>& result,
                         const std::vector<OracleFactor>& factors, double coefficient);

/// The same network in parentheses that leave nothing open: a random tree of its factors, in another order. Networks of one
/// factor have none.
RandomNetwork pinned(RandomNetwork random, std::uint64_t seed);
RandomForest pinned(RandomForest random, std::uint64_t seed);

/// NaN, Inf and -Inf in place of some values of some operands, of at least one where there is any.
void spoil(std::vector<RandomOperand>& operands, std::uint64_t seed);

/// Of a network or forest that leaves nothing open: every coordinate at which stored entries contribute. Results of a forest
/// that are wanted have the entries of their formats, which later assignments read.
CoordinateMap contracted_result(const RandomNetwork& random);
std::map<std::string, CoordinateMap> contracted_results(const RandomForest& random);

/// NaN, which equals nothing, as a number that is no sum of entries.
CoordinateMap comparable(CoordinateMap values);

}  // namespace weft::test
