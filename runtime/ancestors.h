// The positions above a position, level by level.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/entries.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "weft/tensor.h"

namespace weft {

/// Goes along the positions of the last level of a cut tensor (cut_below) and knows the coordinates above. Reads only arrays; the tensor
/// must outlive it.
class Ancestors {
 public:
  explicit Ancestors(const Tensor& cut) : leaves_(cut), last_(cut.format().order() - 1) {
    for (std::size_t l = 0; l <= last_; ++l) {
      const Level& level = cut.format().levels[l];
      levels_.push_back({is_dense(level.kind), cut.extent_of_level(l),
                         Indices(cut.levels()[l].crd, level.crd_bits), cut.positions(l), 0, 0});
    }
  }
  /// Moves to a position and reports whether an ancestor changed. Positions must not fall between calls.
  bool move_to(std::uint64_t position) {
    levels_[last_].position = position;
    if (last_ == 0 || position < levels_[last_ - 1].end) return false;
    for (std::size_t l = 0; l < last_; ++l) {
      State& level = levels_[l];
      if (position < level.end) continue;
      level.position = leaves_.begin(l, level.position + 1) > position
                           ? level.position
                           : (leaves_.begin(l, std::min(level.position + 2, level.positions)) > position
                                  ? level.position + 1
                                  : leaves_.position_of(l, level.positions, position));
      level.end = leaves_.begin(l, level.position + 1);
    }
    return true;
  }
  std::uint64_t coordinate(std::size_t l) const {
    const State& level = levels_[l];
    return level.dense ? level.position % level.extent : level.crd[level.position];
  }
  std::uint64_t ancestor(std::size_t l) const { return levels_[l].position; }

 private:
  struct State {
    bool dense;
    std::uint64_t extent;
    Indices crd;
    std::uint64_t positions;
    std::uint64_t position;
    std::uint64_t end;  ///< first position of the last level behind this ancestor's
  };
  Leaves leaves_;
  std::size_t last_;
  std::vector<State> levels_;
};

}  // namespace weft
