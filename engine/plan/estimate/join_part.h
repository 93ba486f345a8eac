// A part of a join: what one projection of an operand has, sorted column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/tensor.h"

namespace weft {

/// Distinct tuples of one projection, sorted, column by column: first the indices that other parts have too, in the order of the join,
/// then its own.
struct JoinPart {
  std::vector<std::vector<std::uint64_t>> columns;
  std::vector<std::size_t> column_of;  ///< per shared index of the join; columns.size() if it lacks it
  std::size_t own = 0;                 ///< the first column that no other part has
  std::size_t size() const { return columns.empty() ? 0 : columns.front().size(); }
};

/// The entries of these numbers projected on these modes; `shared` has the mode of each shared index, in the order of the join, if the
/// part has it: entries (0,2) (1,2) (0,2) of modes {0, 1} that share mode 1 are the columns 2 2 and 0 1.
JoinPart projected(const Coordinates& all, const std::vector<std::uint64_t>& entries, const std::vector<std::size_t>& modes,
                   const std::vector<std::optional<std::size_t>>& shared);

}  // namespace weft
