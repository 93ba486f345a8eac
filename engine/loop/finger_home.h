// Homes of fingers: the loops that one may be kept over.
//
//   for I: locate A
//     for J: drive A                      # one finger for all blocks of a row of blocks
//       for c: locate A, locate x(gallop J)      x at j = 4*J + c, c below 4
//
// A finger goes one way, so what it looks for may not fall from one iteration to a later one. Of a sum over the loops from its home down to
// its own that holds where a step of each loop is at least as much as those inside it reach: 4 * 1 >= 1 * (4 - 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "engine/loop/walk.h"

namespace weft::loop {

/// Extents of indices that are known.
using KnownExtents = std::function<std::optional<std::uint64_t>(IndexId)>;

/// Whether the finger of a level, which a step of the loop `own` at the end of the path binds, may be kept above the loop `home` around
/// that: an input error that says why not.
Expected<void> may_be_kept(const Program& program, const Path& path, const For& own, AccessId access, std::size_t level, IndexId home,
                           const KnownExtents& extents);

/// The depth of the loop above which a finger starts, of a step of the last loop on the path.
std::size_t home_depth(const Path& inside, const Step& step);

/// Whether a step on a level drives in no order: accumulator and hashed levels where the first mode of their key is not driven with sort. A
/// bitmap has an order.
bool is_unordered(const Program& program, const Path& path, const Step& step, std::size_t level);

}  // namespace weft::loop
