// Parts of slices: one iteration of the root loop run as several, each over some of the entries of the tensor that is walked.
//
// A nest that adds products with one entry of T each is linear in T: over T = T1 + T2 + … it adds up to the sum of what it adds over T1,
// T2, …. So a kernel runs over a part as it stands. Its frame has other arrays pos of T, where fibers end where the part does: of entries
// [2, 5) of T.1 = {pos 0 7, …} it reads pos 2 5. Rows that belong to a coordinate of the root loop are added to in memory of the part's
// own, and these, in the order of the parts, to the result.
//
// A sum over entries of a fiber that is multiplied afterwards, as w in A(i,r) += w(r) * B(j,r), runs over those of the part
// alone: of finite values the same but for rounding, while (1 - 2) * Inf is -Inf and 1 * Inf - 2 * Inf is NaN. A part that
// meets Inf or NaN, or overflows, leaves such in its row: then the row is computed anew, over the slice as a whole; of private
// copies all is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/chunks.h"
#include "engine/loop/program.h"
#include "weft/error.h"
#include "weft/memory.h"
#include "weft/tensor.h"

namespace weft {

/// Where the slices of a tensor may be cut, and the outputs that parts add to.
struct SliceCut {
  std::uint32_t level = 0;             ///< parts are positions of this level; all levels down to it that have pos end with the part
  bool copied = false;                 ///< outputs are private copies, so that chunks may be any positions
  bool distributes = false;            ///< parts multiply sums over some of a fiber: sums that are not finite are computed anew
  std::vector<loop::StorageId> rows;   ///< outputs that own a row, or block, for each coordinate of the root loop
  bool operator==(const SliceCut&) const = default;
};

/// How slices of the input `walked`, which the root loop walks, may be cut; nothing where they may not: it is read twice, something is
/// computed without it, its levels are not driven in order down to one with pos of its own that no fact describes, or an output is appended
/// to or has rows elsewhere.
std::optional<SliceCut> slice_cut(const loop::Program& program, loop::StorageId walked);

/// Arrays pos of a part, by level of the tensor: where element 0 would be; null: the tensor's own. Only those elements are there that a
/// kernel reads for the coordinates of the part's chunk.
struct PartLevels {
  std::vector<const void*> pos;
  Buffer memory;
};
Expected<PartLevels> part_levels(const Chunk& part, const Tensor& tensor, std::uint32_t level, const Memory& memory);

}  // namespace weft
