// Layouts of matrices that compressed rows become without a sort: aligned blocks and slices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "runtime/aligned_blocks.h"
#include "runtime/sliced_rows.h"

namespace weft {

struct MadeOfRows {
  std::variant<AlignedBlocks, SlicedRows> what;

  /// The compressed rows that it is made of.
  Format rows(Scalar scalar) const;
  /// From such rows, sorted and without duplicates.
  Expected<Tensor> made(const Tensor& rows, const Format& format, const Resources& resources, std::string_view name) const;
  /// Such rows of a verified tensor with the layout.
  Expected<Tensor> rows_of(const Tensor& tensor, Zeros zeros, const Resources& resources, std::string_view name) const;
};

/// Nothing for other layouts, and where passes over all rows are long beside those over the entries.
std::optional<MadeOfRows> made_of_rows(const Layout& layout, std::span<const std::uint64_t> extents, std::uint64_t entries);

/// How a conversion between two formats goes about: compressed rows become aligned blocks or slices over them, and these rows or each
/// other; where one of them is neither, but plain, the entries are sorted. Places of other layouts are listed, and entries are stored where
/// their places are computed, or row by row after counting these (computed_places.h, counted_order.h); else all places are sorted.
enum class Rearranging : std::uint8_t { merges, counts, sorts_entries, sorts_places };
Rearranging rearranging(const Format& from, const Format& to);

}  // namespace weft
