// Where the leaves of a position lie.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "weft/tensor.h"

namespace weft {

/// The levels 0 … last as a tensor without values; its leaves are the positions of `last`.
Tensor cut_below(const Tensor& tensor, std::size_t last);

/// The stored entries below a position are contiguous leaves. Reads only arrays; the tensor must outlive it.
class Leaves {
 public:
  explicit Leaves(const Tensor& tensor);
  /// The levels of the format count: of a tensor whose format was cut short, they are the last positions left.
  /// First leaf below `position` of `level`; at the number of positions of the level it gives the number of leaves.
  std::uint64_t begin(std::size_t level, std::uint64_t position) const {
    for (std::size_t l = level + 1; l < steps_.size(); ++l) {
      const Step& step = steps_[l];
      if (is_dense(step.kind))
        position *= step.extent;
      else if (!is_per_parent(step.kind))
        position = step.pos[position];
    }
    return position;
  }
  /// Last position of `level` whose leaves begin at or before `leaf`.
  std::uint64_t position_of(std::size_t level, std::uint64_t positions, std::uint64_t leaf) const;

 private:
  struct Step {
    LevelKind kind = LevelKind::dense;
    std::uint64_t extent = 0;
    Indices pos;
  };
  std::vector<Step> steps_;
};

}  // namespace weft
