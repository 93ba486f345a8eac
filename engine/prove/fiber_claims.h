// Fiber claims: what searching the entries of one fiber rests on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/prove/claim.h"
#include "engine/prove/iteration.h"
#include "weft/format.h"

namespace weft {

/// What is looked up, and how: "x at j", "bisection".
struct Lookup {
  const std::vector<Level>& levels;
  std::size_t level = 0;
  std::string what;
  std::string skeleton;
  bool sorted = false;     ///< entries without an order are put in order first
  bool falls = false;      ///< coordinates fall: entries are gone over from the last to the first
  bool unordered = false;  ///< coordinates differ and come in no order: each is looked at
  std::optional<std::uint64_t> cover = {};  ///< starts of blocks of that many places, 0: of lengths of their own: what covers a coordinate
};

// Each is the same question for all levels of a kind, so that it is asked once.

/// An entry that a search has left behind matches no later coordinate.
Claim passed_claim(const Lookup& lookup, const AssumedOfArrays& assumed);
/// Where a search stops are all entries that match.
Claim candidate_claim(const Lookup& lookup, const AssumedOfArrays& assumed);
/// The last start that is not above a coordinate is that of the one block that may cover it.
Claim covering_claim(const Lookup& lookup, const AssumedOfArrays& assumed);
/// An entry tells on which side of it those are that match.
Claim probe_claim(const Lookup& lookup, const AssumedOfArrays& assumed);
/// A full fiber has each coordinate at its place.
Claim table_claim(const Lookup& lookup, const AssumedOfArrays& assumed);
/// No coordinate has two places in a fiber: of hashed and bitmap levels, and those without an order.
Claim unique_claim(const Lookup& lookup, const AssumedOfArrays& assumed);

}  // namespace weft
