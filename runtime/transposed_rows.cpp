#include "runtime/transposed_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "runtime/blocks.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"
#include "runtime/widths.h"

namespace weft {
namespace {

using IndexArray = std::span<const std::uint32_t>;

bool has_compressed_rows(const Format& format) {
  return format.order() == 2 && !format.layout && is_compressed(format.levels[1].kind) && format.levels[1].pos_bits == 32 &&
         format.levels[1].crd_bits == 32;
}

bool is_transposition(const Tensor& tensor, const Format& to) {
  const Format& from = tensor.format();
  if (!has_compressed_rows(from) || !has_compressed_rows(to) || from.mode_order == to.mode_order || from.scalar != to.scalar) return false;
  const Level& root = from.levels[0];
  const bool listed_root = is_compressed(root.kind) && root.crd_bits == 32;
  return (listed_root || is_dense(root.kind)) && is_dense(to.levels[0].kind) && !root.strided && !to.levels[0].strided &&
         tensor.offset() == 0 && coordinate_bits(tensor.extents()[0]) == 32 && coordinate_bits(tensor.extents()[1]) == 32 &&
         position_bits(tensor.nnz()) == 32;
}

/// Rows of one thread after the other, of about equal numbers of entries: position of the first row of each, and their end.
std::vector<std::uint64_t> parts_of_rows(IndexArray pos, std::uint64_t parts) {
  std::vector<std::uint64_t> begins{0};
  for (std::uint64_t part = 1; part < parts; ++part) {
    const std::uint64_t entry = pos.back() / parts * part;
    begins.push_back(static_cast<std::uint64_t>(std::ranges::lower_bound(pos.first(pos.size() - 1), entry) - pos.begin()));
  }
  begins.push_back(pos.size() - 1);
  return begins;
}

}  // namespace

Expected<std::optional<Tensor>> transposed_rows(const Tensor& tensor, const Format& format, const Resources& resources,
                                                std::string_view name) {
  if (!is_transposition(tensor, format)) return std::nullopt;
  const std::uint64_t entries = tensor.nnz();
  const std::uint64_t columns = tensor.extents()[format.mode_order[0]];
  if (columns > entries) return std::nullopt;
  // Each part counts all columns.
  constexpr std::uint64_t least_entries = 1 << 14;
  const std::uint64_t parts =
      std::clamp<std::uint64_t>(entries / std::max(columns, least_entries), 1, resources.threads.count());

  const IndexArray pos = tensor.levels()[1].pos.as<std::uint32_t>().first(tensor.positions(0) + 1);
  const auto crd = tensor.levels()[1].crd.as<std::uint32_t>();
  const auto rows = is_compressed(tensor.format().levels[0].kind) ? tensor.levels()[0].crd.as<std::uint32_t>() : IndexArray{};
  const std::vector<std::uint64_t> begins = parts_of_rows(pos, parts);
  const auto allocate = [&](std::uint64_t count, unsigned bytes) { return Buffer::allocate(count * bytes, resources.memory, name); };
  const auto for_parts = [&](const auto& body) {
    resources.threads.for_each(static_cast<std::size_t>(parts), [&](std::size_t part, unsigned) { body(part); });
  };

  const auto is_cancelled = [&] { return resources.cancellation.cancelled(); };
  const auto cancelled = [&] { return fail(ErrorKind::cancelled, fmt::format("cancelled while converting {}", name)); };
  if (is_cancelled()) return cancelled();
  auto counts = allocate(columns * parts, sizeof(std::uint32_t));
  if (!counts) return std::unexpected(counts.error());
  const auto next = counts->as<std::uint32_t>();
  for_parts([&](std::size_t part) {
    const auto own = next.subspan(part * columns, columns);
    for (std::uint64_t entry = pos[begins[part]]; entry < pos[begins[part + 1]]; ++entry) ++own[crd[entry]];
  });
  auto ends = allocate(columns + 1, sizeof(std::uint32_t));
  if (!ends) return std::unexpected(ends.error());
  const auto column_pos = ends->as<std::uint32_t>();
  std::uint32_t begin = 0;
  for (std::uint64_t column = 0; column < columns; ++column) {
    column_pos[column] = begin;
    for (std::uint64_t at = column; at < next.size(); at += columns) begin += std::exchange(next[at], begin);
  }
  column_pos[columns] = begin;

  if (is_cancelled()) return cancelled();
  auto coordinates = allocate(entries, sizeof(std::uint32_t));
  if (!coordinates) return std::unexpected(coordinates.error());
  auto values = allocate(entries, scalar_bytes(format.scalar));
  if (!values) return std::unexpected(values.error());
  with_element(format.scalar, [&]<class T>(T) {
    const auto from = tensor.values().as<T>();
    const auto to = values->as<T>();
    const auto row_of = coordinates->as<std::uint32_t>();
    for_parts([&](std::size_t part) {
      const auto own = next.subspan(part * columns, columns);
      for (std::uint64_t row = begins[part]; row < begins[part + 1]; ++row) {
        const std::uint32_t coordinate = rows.empty() ? static_cast<std::uint32_t>(row) : rows[row];
        for (std::uint32_t entry = pos[row]; entry < pos[row + 1]; ++entry) {
          const std::uint32_t place = own[crd[entry]]++;
          row_of[place] = coordinate;
          to[place] = from[entry];
        }
      }
    });
  });
  TensorArrays made_columns;
  made_columns.format = format;
  made_columns.extents = tensor.extents();
  made_columns.levels.resize(2);
  made_columns.levels[1].pos = std::move(*ends);
  made_columns.levels[1].crd = std::move(*coordinates);
  made_columns.values = std::move(*values);
  return made(std::move(made_columns));
}

}  // namespace weft
