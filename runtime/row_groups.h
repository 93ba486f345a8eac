// Groups of rows: what blocks and slices of a matrix, which are made from its compressed rows, have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/affine.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"
#include "weft/layout.h"
#include "weft/tensor.h"

namespace weft {

/// The single term of a level that is a quotient, a remainder or a whole mode, in coordinates from 0 on; null: it is something else.
const AffineTerm* part_of_mode(const LayoutLevel& level);

/// Compressed rows, the row being of that mode: "ds".
Format rows_format(std::uint32_t row, std::uint32_t column, Scalar scalar);

/// Whether there are groups, and passes over all rows are short beside those over the entries.
bool are_worth_grouping(std::uint64_t rows, std::uint64_t columns, std::uint64_t entries);

constexpr std::uint64_t quotients(std::uint64_t extent, std::uint64_t divisor) {
  return extent / divisor + (extent % divisor != 0 ? 1 : 0);
}

/// counts[n] entries of group n to where they begin, and the sum behind them.
std::uint64_t to_begins(std::span<std::uint64_t> counts);

/// Begins of 64 bits as `pos`, a copy, since begins move on.
Expected<Buffer> as_positions(const Buffer& begins, unsigned bits, const Resources& resources, std::string_view name);

/// Of a tensor over the coordinates of levels, before it gets the layout: `format`'s levels in their order, no coordinate narrower than 32
/// bits.
Format level_format(const Format& format);

/// The compressed rows, in `format`, of what `visit` calls its argument with: (row, column, value), twice, the entries of a row one after
/// the other in the order of their columns, those of several rows on several threads. Values are of the tensor's type.
template <class Visit>
Expected<Tensor> rows_of_places(const Tensor& tensor, const Format& format, const Resources& resources, std::string_view name,
                                const Visit& visit) {
  const std::uint64_t rows = tensor.extents()[format.mode_order[0]], columns = tensor.extents()[format.mode_order[1]];
  auto begins = Buffer::allocate(saturating_product(rows + 1, sizeof(std::uint64_t)), resources.memory, name);
  if (!begins) return std::unexpected(begins.error());
  const auto begin_of = begins->as<std::uint64_t>();
  visit([&](std::uint64_t row, std::uint64_t, auto) { ++begin_of[row]; });
  const std::uint64_t total = to_begins(begin_of);
  TensorArrays made_rows;
  made_rows.format = format;
  made_rows.extents = tensor.extents();
  made_rows.levels.resize(2);
  Level& column = made_rows.format.levels[1];
  widen(column.crd_bits, coordinate_bits(columns));
  widen(column.pos_bits, position_bits(total));
  auto crd = Buffer::allocate(saturating_product(total, column.crd_bits / 8), resources.memory, name);
  if (!crd) return std::unexpected(crd.error());
  auto values = Buffer::allocate(saturating_product(total, scalar_bytes(format.scalar)), resources.memory, name);
  if (!values) return std::unexpected(values.error());
  auto pos = as_positions(*begins, column.pos_bits, resources, name);
  if (!pos) return std::unexpected(pos.error());
  // Each row's begin moves to its end.
  with_width(column.crd_bits, [&]<class C>(C) {
    C* const row_crd = crd->as<C>().data();
    visit([&, row_crd]<class T>(std::uint64_t row, std::uint64_t at, T value) {
      const std::uint64_t position = begin_of[row]++;
      row_crd[position] = static_cast<C>(at);
      static_cast<T*>(values->data())[position] = value;
    });
  });
  made_rows.levels[1].pos = std::move(*pos);
  made_rows.levels[1].crd = std::move(*crd);
  made_rows.values = std::move(*values);
  return made(std::move(made_rows));
}

}  // namespace weft
