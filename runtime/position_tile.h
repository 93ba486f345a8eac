// A few hundred positions of a level and their ancestors, level by level, as counting passes look at them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/indices.h"
#include "weft/tensor.h"

namespace weft {

/// Up to `most` positions of the last level that a pass looks at, one behind the other, and above them every position that one of
/// them lies below, once. Numbers within a level count from the first of the tile. Reads only arrays; the tensor must outlive it.
class PositionTile {
 public:
  static constexpr std::size_t most = 512;
  template <class T>
  using Column = std::array<T, most>;

  struct Level {
    std::size_t length = 0;
    Column<std::uint64_t> positions;
    Column<std::uint64_t> coordinates;
    Column<std::uint16_t> parents;  ///< among those of the level above
  };

  PositionTile(const Tensor& tensor, std::size_t last);
  /// Positions begin … begin + length - 1 of the last level, behind those of the tile before.
  void move_to(std::uint64_t begin, std::size_t length);
  const Level& level(std::size_t l) const { return levels_[l]; }

 private:
  struct Arrays {
    LevelKind kind = LevelKind::dense;
    std::uint64_t extent = 0;
    const void* pos = nullptr;
    const void* crd = nullptr;
    unsigned pos_bits = 32;
    unsigned crd_bits = 32;
    std::uint64_t parents = 1;  ///< positions of the level above
    std::uint64_t parent = 0;   ///< that of the last position looked at
  };
  void add_coordinates(std::size_t l);
  void add_parents(std::size_t l);

  std::vector<Arrays> arrays_;
  std::unique_ptr<Level[]> levels_;  ///< not cleared: of a few positions that would be most of the work
};

}  // namespace weft
