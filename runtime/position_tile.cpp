#include "runtime/position_tile.h"

#include "runtime/level_traits.h"

#include <algorithm>

namespace weft {

PositionTile::PositionTile(const Tensor& tensor, std::size_t last)
    : arrays_(last + 1), levels_(std::make_unique_for_overwrite<Level[]>(last + 1)) {
  for (std::size_t l = 0; l <= last; ++l) {
    const weft::Level& level = tensor.format().levels[l];
    const LevelArrays& stored = tensor.levels()[l];
    arrays_[l] = {.kind = level.kind,
                  .extent = tensor.extent_of_level(l),
                  .pos = stored.pos.data(),
                  .crd = stored.crd.data(),
                  .pos_bits = level.pos_bits,
                  .crd_bits = level.crd_bits,
                  .parents = l == 0 ? 1 : tensor.positions(l - 1)};
  }
}

void PositionTile::move_to(std::uint64_t begin, std::size_t length) {
  Level& lowest = levels_[arrays_.size() - 1];
  lowest.length = length;
  for (std::size_t n = 0; n < length; ++n) lowest.positions[n] = begin + n;
  for (std::size_t l = arrays_.size(); l-- > 0;) {
    add_coordinates(l);
    if (l > 0) add_parents(l);
  }
}

void PositionTile::add_coordinates(std::size_t l) {
  Level& level = levels_[l];
  const Arrays& arrays = arrays_[l];
  if (is_dense(arrays.kind)) {
    for (std::size_t n = 0; n < level.length; ++n) level.coordinates[n] = level.positions[n] % arrays.extent;
    return;
  }
  with_width(arrays.crd_bits, [&]<class T>(T) {
    const T* const crd = static_cast<const T*>(arrays.crd);
    for (std::size_t n = 0; n < level.length; ++n) level.coordinates[n] = crd[level.positions[n]];
  });
}

// Positions rise, and so do those above them.
void PositionTile::add_parents(std::size_t l) {
  Level& level = levels_[l];
  Level& above = levels_[l - 1];
  Arrays& arrays = arrays_[l];
  above.length = 0;
  const auto add = [&](std::size_t n, std::uint64_t parent, std::uint64_t before) {
    const bool first = n == 0 || parent != before;
    above.positions[above.length] = parent;
    above.length += first ? 1 : 0;
    level.parents[n] = static_cast<std::uint16_t>(above.length - 1);
  };
  if (is_dense(arrays.kind)) {
    std::uint64_t before = 0;
    for (std::size_t n = 0; n < level.length; ++n) {
      const std::uint64_t parent = level.positions[n] / arrays.extent;
      add(n, parent, before);
      before = parent;
    }
  } else if (is_per_parent(arrays.kind)) {
    above.length = level.length;
    std::copy_n(level.positions.begin(), level.length, above.positions.begin());
    for (std::size_t n = 0; n < level.length; ++n) level.parents[n] = static_cast<std::uint16_t>(n);
  } else {
    with_width(arrays.pos_bits, [&]<class T>(T) {
      const T* const pos = static_cast<const T*>(arrays.pos);
      std::uint64_t parent = arrays.parent;
      // The first position of a thread lies anywhere.
      const std::uint64_t first = level.positions[0];
      if (pos[parent] > first || pos[std::min(parent + 2, arrays.parents)] <= first)
        parent = static_cast<std::uint64_t>(std::upper_bound(pos, pos + arrays.parents, first) - pos) - 1;
      for (std::size_t n = 0; n < level.length; ++n) {
        const std::uint64_t before = parent;
        while (pos[parent + 1] <= level.positions[n]) ++parent;
        add(n, parent, before);
      }
      arrays.parent = parent;
    });
  }
}

}  // namespace weft
