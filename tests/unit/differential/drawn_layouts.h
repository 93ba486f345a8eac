// Random networks over tensors in random layouts: given in one, pinned to one, with a result in one or at the positions of an operand.
#pragma once

#include <optional>
#include <string>

#include "oracle/random_network.h"
#include "weft/engine.h"

namespace weft::test {

struct DrawnLayouts {
  RandomNetwork random;   ///< as its tensors are
  Tensors tensors;        ///< in the layouts that they are given in
  CompileOptions options;
  bool is_long = false;   ///< some extents are beyond 32 bits or memory
  bool redrawn = false;   ///< bound to other entries than it is compiled for
  std::string said;       ///< the layouts, as words
  RandomNetwork plain;    ///< before extents were made long

  std::optional<Format> wanted() const;  ///< format that is asked of R
};

/// Half of them have a layout on one operand alone, among dense ones. One in five is over long extents, where layouts that cannot be made
/// of these are left out and a result is sparse; `resources` limits what is.
Expected<DrawnLayouts> drawn_layouts(Dice& dice, const RandomLimits& limits, const Resources& resources);

/// Other entries and perhaps other extents for the same expression and options; tensors mostly in the layouts that they had.
Expected<void> redraw(DrawnLayouts& drawn, Dice& dice, const RandomLimits& limits, const Resources& resources);

/// What is wrong with a run's results; empty if nothing is, and where one is refused as it may be: a layout has no room for entries that it
/// is not made for, and what is dense over long extents none in memory.
std::string defect(const DrawnLayouts& drawn, const Expected<Tensors>& results);

/// What repeats the draw.
std::string reproduction(const DrawnLayouts& drawn);

}  // namespace weft::test
