#include "runtime/widths.h"

#include <algorithm>

#include "runtime/extents.h"
#include "runtime/indices.h"

namespace weft {

unsigned needed_coordinate_bits(LevelKind kind, std::uint64_t extent) {
  if (!has_coordinates(kind)) return 0;
  return coordinate_bits(kind == LevelKind::hashed && extent < saturated ? extent + 1 : extent);
}

Format with_widths(Format format, std::span<const std::uint64_t> extents, std::uint64_t entries) {
  // A fiber of one entry has two slots, one of n entries at most 3 n.
  constexpr std::uint64_t most_slots_per_entry = 3;
  for (std::size_t l = 0; l < format.order(); ++l) {
    Level& level = format.levels[l];
    const unsigned crd_bits = needed_coordinate_bits(level.kind, extents[format.mode_order[l]]);
    level.crd_bits = std::max(level.crd_bits, static_cast<std::uint8_t>(crd_bits));
    if (!has_pos(level.kind)) continue;
    const bool hashed = level.kind == LevelKind::hashed;
    const unsigned pos_bits = position_bits(hashed ? saturating_product(entries, most_slots_per_entry) : entries);
    level.pos_bits = std::max(level.pos_bits, static_cast<std::uint8_t>(pos_bits));
  }
  return format;
}

}  // namespace weft
