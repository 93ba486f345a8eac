#include "runtime/widths.h"

#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"

namespace weft {

unsigned needed_coordinate_bits(LevelKind kind, std::uint64_t extent) {
  if (!has_coordinates(kind)) return 0;
  return coordinate_bits(has_slots(kind) && extent < saturated ? extent + 1 : extent);
}

Format with_widths(Format format, std::span<const std::uint64_t> extents, std::uint64_t entries) {
  // A fiber of one entry has two slots, one of n entries at most 3 n.
  constexpr std::uint64_t most_slots_per_entry = 3;
  for (std::size_t l = 0; l < format.order(); ++l) {
    Level& level = format.levels[l];
    widen(level.crd_bits, needed_coordinate_bits(level.kind, extents[format.mode_order[l]]));
    if (!has_pos(level.kind)) continue;
    const bool hashed = has_slots(level.kind);
    widen(level.pos_bits, position_bits(hashed ? saturating_product(entries, most_slots_per_entry) : entries));
  }
  return format;
}

}  // namespace weft
