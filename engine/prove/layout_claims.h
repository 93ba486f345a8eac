// Layout claims: what a layout over extents rests on, as questions in SMT-LIB 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/prove/claim.h"
#include "runtime/placement.h"
#include "weft/layout.h"

namespace weft {

/// What the values of a level with arrays say of two places; all of it unless a test leaves something out.
struct AssumedOfPlaces {
  bool starts_lie_apart = true;
  bool one_start = true;         ///< of `q`, for each place above
  bool chains_rise = true;       ///< with the slot
};

/// That no two coordinates share their levels; also of a layout that weft cannot invert.
Claim apart_claim(const Layout& layout, std::span<const std::uint64_t> extents);

/// The others. Nothing where an extent is 0.
std::vector<Claim> layout_claims(const Placement& placement, const AssumedOfPlaces& assumed = {});

}  // namespace weft
