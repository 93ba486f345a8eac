// Which index widths the levels of a format need. Every format that is made for something (a result, an intermediate, a key of a
// workspace, a copy) gets its widths here: 32 bits unless an extent, or the number of positions, needs 64.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/level_traits.h"
#include "weft/format.h"

namespace weft {

/// Bits of the coordinates of such a level over such an extent; 0 where it stores none. A hashed level needs one number more,
/// for its empty slots: over 2^32 coordinates it has 64 bits.
unsigned needed_coordinate_bits(LevelKind kind, std::uint64_t extent);

/// The format with wider levels where they are needed. `extents`: by mode; `entries`: at least as many as are stored.
Format with_widths(Format format, std::span<const std::uint64_t> extents, std::uint64_t entries = 0);

}  // namespace weft
