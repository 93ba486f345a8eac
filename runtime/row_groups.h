// Groups of rows: what blocks and slices of a matrix, which are made from its compressed rows, have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/affine.h"
#include "weft/layout.h"
#include "weft/tensor.h"

namespace weft {

/// The single term of a level that is a quotient, a remainder or a whole mode, in coordinates from 0 on; null: it is something else.
const AffineTerm* part_of_mode(const LayoutLevel& level);

/// Compressed rows, the row being of that mode: "ds".
Format rows_format(std::uint32_t row, std::uint32_t column, Scalar scalar);

/// Whether there are groups, and passes over all rows are short beside those over the entries.
bool are_worth_grouping(std::uint64_t rows, std::uint64_t columns, std::uint64_t entries);

constexpr std::uint64_t quotients(std::uint64_t extent, std::uint64_t divisor) { return extent / divisor + (extent % divisor != 0 ? 1 : 0); }

/// counts[n] entries of group n to where they begin, and the sum behind them.
std::uint64_t to_begins(std::span<std::uint64_t> counts);

/// Begins of 64 bits as `pos`, a copy, since begins move on.
Expected<Buffer> as_positions(const Buffer& begins, unsigned bits, const Resources& resources, std::string_view name);

/// Of a tensor over the coordinates of levels, before it gets the layout: `format`'s levels in their order, no coordinate narrower than 32
/// bits.
Format level_format(const Format& format);

}  // namespace weft
