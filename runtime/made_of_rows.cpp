#include "runtime/made_of_rows.h"

#include "runtime/computed_places.h"
#include "runtime/level_traits.h"
#include "runtime/row_groups.h"

namespace weft {

Format MadeOfRows::rows(Scalar scalar) const {
  return std::visit([&](const auto& groups) { return rows_format(groups.row, groups.column, scalar); }, what);
}

Expected<Tensor> MadeOfRows::made(const Tensor& rows, const Format& format, const Resources& resources, std::string_view name) const {
  if (const auto* blocks = std::get_if<AlignedBlocks>(&what)) return blocks_of_rows(rows, *blocks, format, resources, name);
  return slices_of_rows(rows, std::get<SlicedRows>(what), format, resources, name);
}

Expected<Tensor> MadeOfRows::rows_of(const Tensor& tensor, Zeros zeros, const Resources& resources, std::string_view name) const {
  if (const auto* blocks = std::get_if<AlignedBlocks>(&what)) return rows_of_blocks(tensor, *blocks, zeros, resources, name);
  return rows_of_slices(tensor, std::get<SlicedRows>(what), zeros, resources, name);
}

std::optional<MadeOfRows> made_of_rows(const Layout& layout, std::span<const std::uint64_t> extents, std::uint64_t entries) {
  const auto if_worth = [&](const auto& groups) -> std::optional<MadeOfRows> {
    if (!groups || !are_worth_grouping(extents[groups->row], extents[groups->column], entries)) return std::nullopt;
    return MadeOfRows{*groups};
  };
  const auto blocks = if_worth(aligned_blocks(layout));
  return blocks ? blocks : if_worth(sliced_rows(layout));
}

namespace {

std::optional<std::uint32_t> rows_of_groups(const Layout& layout) {
  if (const auto blocks = aligned_blocks(layout)) return blocks->row;
  if (const auto slices = sliced_rows(layout)) return slices->row;
  return std::nullopt;
}

/// Whether listed entries are stored without sorting them by all levels, for the most part.
bool is_counted(const Format& to) {
  if (!to.layout) return to.order() == 2;
  return rows_of_groups(*to.layout) || have_computed_places(to);
}

/// The mode whose coordinates are rows, of compressed ones or of a layout that is made of such.
std::optional<std::uint32_t> rows_of(const Format& format) {
  if (format.layout) return rows_of_groups(*format.layout);
  const bool are_rows = format.order() == 2 && is_dense(format.levels[0].kind) && is_compressed(format.levels[1].kind);
  return are_rows ? std::optional(format.mode_order[0]) : std::nullopt;
}

}  // namespace

Rearranging rearranging(const Format& from, const Format& to) {
  const bool is_listed = from.layout && !rows_of(from);
  if (is_listed || (to.layout && !rows_of(to))) return is_counted(to) ? Rearranging::counts : Rearranging::sorts_places;
  const bool same = (from.layout || to.layout) && rows_of(from) && rows_of(from) == rows_of(to);
  return same ? Rearranging::merges : Rearranging::sorts_entries;
}

}  // namespace weft
