// Entries put in order by counting how many have each coordinate of the first mode, where those that share it stand in the order of the
// other modes already: rows of what is stored by columns or by diagonals, whose entries come row by row in ascending columns.
//
//   entries (2,0) (0,1) (2,1) (1,3)  ->  counts 1 1 2, begins 0 1 2  ->  (0,1) (1,3) (2,0) (2,1)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/build.h"
#include "weft/tensor.h"

namespace weft {

/// The entries by level, lexicographically sorted by `modes`, equal ones in the order of the input; consumes them. Nothing, and they
/// stay, where entries that share their first coordinate do not stand in order, or the mode has too many coordinates to be counted.
/// `others_in_order`: they are known to, whatever the number of modes; of more than two only then.
Expected<std::optional<SortedEntries>> in_counted_order(Coordinates& coordinates, std::span<const std::uint32_t> modes,
                                                        bool others_in_order, const Resources& resources, std::string_view name);

}  // namespace weft
