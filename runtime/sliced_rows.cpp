#include "runtime/sliced_rows.h"

#include <algorithm>

#include "runtime/blocks.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_tensor.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/row_groups.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

/// The places of one row, `step` apart: its entries, and zeros at the least columns that they leave, in the order of the columns.
template <class C, class S, class From, class To>
void fill_row(std::span<const C> crd, std::span<const From> from, std::uint64_t length, std::uint64_t step, S* columns, To* values) {
  std::uint64_t pads = length - crd.size();
  std::uint64_t unused = 0;
  std::uint64_t entry = 0;
  for (std::uint64_t place = 0; place < length; ++place) {
    const std::uint64_t here = entry < crd.size() ? crd[entry] : saturated;
    const bool is_pad = pads > 0 && here != unused;
    columns[place * step] = static_cast<S>(is_pad ? unused : here);
    values[place * step] = is_pad ? To{} : static_cast<To>(from[entry]);
    unused += is_pad || here == unused ? 1 : 0;
    pads -= is_pad ? 1 : 0;
    entry += is_pad ? 0 : 1;
  }
}

/// The places of a tensor in slices, of values T and coordinates S.
template <class T, class S>
struct StoredSlices {
  SlicedRows slices;
  std::uint64_t rows;
  Indices pos;
  std::span<const S> crd;
  std::span<const T> values;

  StoredSlices(const Tensor& tensor, const SlicedRows& in)
      : slices(in),
        rows(tensor.extents()[in.row]),
        pos(tensor.levels()[1].pos, tensor.format().levels[1].pos_bits),
        crd(tensor.levels()[3].crd.as<const S>()),
        values(tensor.values().as<const T>()) {}

  /// Calls f(row, column, value) for every place that is not left out, row by row, in the order of the columns.
  template <class F>
  void for_kept(const Threads& threads, Zeros zeros, F&& f) const {
    const std::uint64_t lanes = std::min(slices.height, rows);
    for_blocks(threads, Blocks(rows, threads, 1 << 12), [&](std::uint64_t first, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t row = first; row < end; ++row) {
        const std::uint64_t slice = row / slices.height, lane = row % slices.height;
        for (std::uint64_t place = pos[slice]; place < pos[slice + 1]; ++place) {
          const std::uint64_t at = place * lanes + lane;
          if (!is_left_out(values[at], zeros)) f(row, crd[at], values[at]);
        }
      }
    });
  }
};

template <class F>
void with_stored_slices(const Tensor& tensor, const SlicedRows& slices, F&& f) {
  with_element(tensor.format().scalar, [&]<class T>(T) {
    with_width(tensor.format().levels[3].crd_bits, [&]<class S>(S) { f(StoredSlices<T, S>(tensor, slices)); });
  });
}

}  // namespace

std::optional<SlicedRows> sliced_rows(const Layout& layout) {
  if (layout.modes.size() != 2 || !layout.free.empty() || layout.levels.size() != 4) return std::nullopt;
  const LayoutLevel& slot = layout.levels[1];
  if (slot.value || slot.kind != LevelKind::variable || slot.low || slot.high) return std::nullopt;
  const AffineTerm* const slice = part_of_mode(layout.levels[0]);
  const AffineTerm* const lane = part_of_mode(layout.levels[2]);
  const AffineTerm* const column = part_of_mode(layout.levels[3]);
  if (!slice || !lane || !column || !is_dense(layout.levels[0].kind) || !is_dense(layout.levels[2].kind) ||
      layout.levels[3].kind != LevelKind::singleton) {
    return std::nullopt;
  }
  const bool fits = slice->modulus == 0 && lane->divisor == 1 && lane->modulus == slice->divisor && slice->divisor > 1 &&
                    column->divisor == 1 && column->modulus == 0 && lane->variable == slice->variable &&
                    column->variable != slice->variable;
  if (!fits) return std::nullopt;
  return SlicedRows{slice->variable, column->variable, static_cast<std::uint64_t>(slice->divisor)};
}

Expected<Tensor> slices_of_rows(const Tensor& rows, const SlicedRows& slices, const Format& format, const Resources& resources,
                                std::string_view name) {
  const auto placement = Placement::of(*format.layout, rows.extents(), name);
  if (!placement) return std::unexpected(placement.error());
  const std::uint64_t row_count = rows.extents()[slices.row];
  const std::uint64_t lanes = std::min(slices.height, row_count);
  const std::uint64_t count = quotients(row_count, slices.height);
  const Indices pos(rows.levels()[1].pos, rows.format().levels[1].pos_bits);
  auto begins = Buffer::allocate(saturating_product(count + 1, sizeof(std::uint64_t)), resources.memory, name);
  if (!begins) return std::unexpected(begins.error());
  const auto begin_of = begins->as<std::uint64_t>();
  // Calls f(slice, its first row, behind its last) for all slices.
  const auto for_slices = [&](auto&& f) {
    for_blocks(resources.threads, Blocks(count, resources.threads, 1 << 10), [&](std::uint64_t first, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t slice = first; slice < end; ++slice)
        f(slice, slice * slices.height, std::min(row_count, (slice + 1) * slices.height));
    });
  };
  for_slices([&](std::uint64_t slice, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t row = first; row < end; ++row) begin_of[slice] = std::max(begin_of[slice], pos[row + 1] - pos[row]);
  });
  const std::uint64_t widest = std::ranges::max(begin_of);
  const std::uint64_t total = to_begins(begin_of);

  TensorArrays made_levels;
  made_levels.format = level_format(format);
  made_levels.levels.resize(format.order());
  made_levels.extents = placement->level_extents();
  made_levels.extents[1] = widest;
  widen(made_levels.format.levels[1].pos_bits, position_bits(total));
  Level& column = made_levels.format.levels[3];
  widen(column.crd_bits, coordinate_bits(made_levels.extents[3]));
  const std::uint64_t places = saturating_product(total, lanes);
  auto crd = Buffer::allocate(saturating_product(places, column.crd_bits / 8), resources.memory, name);
  if (!crd) return std::unexpected(crd.error());
  auto values = Buffer::allocate(saturating_product(places, scalar_bytes(format.scalar)), resources.memory, name);
  if (!values) return std::unexpected(values.error());
  with_width(rows.format().levels[1].crd_bits, [&]<class C>(C) {
    with_width(column.crd_bits, [&]<class S>(S) {
      with_element(rows.format().scalar, [&]<class From>(From) {
        with_element(format.scalar, [&]<class To>(To) {
          const auto row_crd = rows.levels()[1].crd.as<const C>();
          const auto row_values = rows.values().as<const From>();
          S* const columns = crd->as<S>().data();
          To* const made_values = values->as<To>().data();
          for_slices([&](std::uint64_t slice, std::uint64_t first, std::uint64_t end) {
            const std::uint64_t length = begin_of[slice + 1] - begin_of[slice];
            if (length == 0) return;
            const std::uint64_t base = begin_of[slice] * lanes;
            for (std::uint64_t row = first; row < end; ++row) {
              const std::uint64_t from = pos[row], entries = pos[row + 1] - from, place = base + row - first;
              fill_row(row_crd.subspan(from, entries), row_values.subspan(from, entries), length, lanes, columns + place,
                       made_values + place);
            }
            for (std::uint64_t lane = end - first; lane < lanes; ++lane)
              for (std::uint64_t place = 0; place < length; ++place) {
                columns[base + place * lanes + lane] = columns[base + place * lanes + lane - 1];
                made_values[base + place * lanes + lane] = To{};
              }
          });
        });
      });
    });
  });
  auto narrow = as_positions(*begins, made_levels.format.levels[1].pos_bits, resources, name);
  if (!narrow) return std::unexpected(narrow.error());
  made_levels.levels[1].pos = std::move(*narrow);
  made_levels.levels[3].crd = std::move(*crd);
  made_levels.values = std::move(*values);
  return with_layout(made(std::move(made_levels)), format, rows.extents(), places != rows.nnz(), resources, name);
}

Expected<Tensor> rows_of_slices(const Tensor& tensor, const SlicedRows& slices, Zeros zeros, const Resources& resources,
                                std::string_view name) {
  return rows_of_places(tensor, rows_format(slices.row, slices.column, tensor.format().scalar), resources, name, [&](const auto& take) {
    with_stored_slices(tensor, slices, [&](const auto& stored) { stored.for_kept(resources.threads, zeros, take); });
  });
}

}  // namespace weft
