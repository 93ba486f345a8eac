// What a sparse result stores: the structural product, by brute force.
#pragma once

#include <optional>
#include <string>

#include "oracle/dice.h"
#include "oracle/random_network.h"

namespace weft::test {

/// A network and how its result R is asked for.
struct RequestedNetwork {
  RandomNetwork random;
  std::optional<Format> format;        ///< nothing: weft chooses
  std::optional<std::string> pattern;  ///< like(OPERAND)
};

/// Any kinds of levels that a result can have, d s u q h b, in any order of modes.
Format random_result_format(std::size_t order, Scalar scalar, Dice& dice);

/// A random network whose result is asked for in a random format, now and then like an operand, or left to weft.
RequestedNetwork random_requested(std::uint64_t seed, const RandomLimits& limits = {});
/// The same for a network that is drawn already.
RequestedNetwork requested_of(RandomNetwork random, Dice& dice);

/// The operand that has exactly the modes of the result, so that it may lend its pattern; nothing if there is none.
std::optional<std::string> lends_pattern(const RandomNetwork& random);

/// A request like(OPERAND), a format, or none, as `--format` writes it.
std::string reproduction(const RequestedNetwork& requested);

/// Entries and the zeros stored with them: dense levels below an entry are whole. By mode, as `entries` are.
CoordinateMap stored(const CoordinateMap& entries, const Format& format, const std::vector<std::uint64_t>& extents);

/// Every coordinate at which some combination of stored entries contributes, entries of dense levels included.
CoordinateMap structural_product(const RandomNetwork& random);

/// What a result in a format stores, or one that has the pattern of an operand.
CoordinateMap expected_entries(const RequestedNetwork& requested, const Format& format);

std::vector<std::uint64_t> result_extents(const RandomNetwork& random);

/// "R(1,2) is absent instead of 4, …": the first few differences in structure or value; empty if there is none.
std::string structural_differences(const CoordinateMap& result, const CoordinateMap& expected);

}  // namespace weft::test
