// The same tensor in another format, or over other extents.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/aligned_blocks.h"
#include "runtime/made_of_rows.h"
#include "runtime/row_groups.h"
#include "runtime/blocks.h"
#include "runtime/build.h"
#include "runtime/convert.h"
#include "runtime/dense.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/layout_entries.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/open_levels.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"
#include "runtime/transposed_rows.h"
#include "runtime/widths.h"

namespace weft {
namespace {

/// The same layout with other index widths or another scalar: every array is converted by itself.
bool same_layout(const Format& a, const Format& b) {
  return a.mode_order == b.mode_order &&
         std::equal(a.levels.begin(), a.levels.end(), b.levels.begin(), b.levels.end(),
                    [](const Level& x, const Level& y) { return x.kind == y.kind && x.strided == y.strided; });
}

template <class From, class To>
Expected<Buffer> converted_elements(const Buffer& array, const Resources& resources, std::string_view name) {
  auto from = array.as<From>();
  auto buffer = Buffer::allocate(from.size() * sizeof(To), resources.memory, name);
  if (!buffer) return buffer;
  auto to = buffer->template as<To>();
  for_blocks(resources.threads, Blocks(from.size(), resources.threads),
             [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
               for (std::uint64_t n = begin; n < end; ++n) to[n] = static_cast<To>(from[n]);
             });
  return buffer;
}

Expected<Buffer> converted_indices(const Buffer& array, unsigned from_bits, unsigned to_bits,
                                   const Resources& resources, std::string_view name) {
  if (from_bits == to_bits) return array;
  return from_bits == 32 ? converted_elements<std::uint32_t, std::uint64_t>(array, resources, name)
                         : converted_elements<std::uint64_t, std::uint32_t>(array, resources, name);
}

/// Widths are minima: 64 where the tensor's own figures need it.
Format with_needed_widths(const Tensor& tensor, Format format) {
  for (std::size_t l = 0; l < format.order(); ++l) {
    Level& level = format.levels[l];
    widen(level.crd_bits, needed_coordinate_bits(level.kind, tensor.extent_of_level(l)));
    if (has_pos(level.kind)) widen(level.pos_bits, position_bits(tensor.positions(l)));
  }
  return format;
}

Expected<Tensor> with_other_widths(const Tensor& tensor, const Format& requested, const Resources& resources,
                                   std::string_view name) {
  TensorArrays result = tensor.arrays();
  result.format = with_needed_widths(tensor, requested);
  for (std::size_t l = 0; l < tensor.order(); ++l) {
    const Level& from = tensor.format().levels[l];
    const Level& to = result.format.levels[l];
    auto pos = converted_indices(tensor.levels()[l].pos, from.pos_bits, to.pos_bits, resources, name);
    if (!pos) return std::unexpected(pos.error());
    auto crd = converted_indices(tensor.levels()[l].crd, from.crd_bits, to.crd_bits, resources, name);
    if (!crd) return std::unexpected(crd.error());
    result.levels[l].pos = std::move(*pos);
    result.levels[l].crd = std::move(*crd);
  }
  if (tensor.format().scalar != requested.scalar) {
    auto values = with_element(tensor.format().scalar, [&]<class From>(From) {
      return with_element(requested.scalar, [&]<class To>(To) { return converted_elements<From, To>(tensor.values(), resources, name); });
    });
    if (!values) return std::unexpected(values.error());
    result.values = std::move(*values);
  }
  return made(std::move(result));
}

/// The modes of the dense levels below the last other one, of which every entry above has a whole block.
std::vector<std::uint32_t> block_modes(const Format& format) {
  std::vector<std::uint32_t> modes;
  for (std::size_t l = format.order(); l > 0 && is_dense(format.levels[l - 1].kind); --l)
    modes.push_back(format.mode_order[l - 1]);
  return modes;
}

/// Aligned blocks of a format that are made from rows, or rows from them.
/// By way of compressed levels, which everything else knows.
Expected<Tensor> with_gaps_converted(const Tensor& tensor, const Format& format, const Resources& resources,
                                     std::string_view name) {
  if (auto room = room_for_gaps(format, tensor.extents(), {}, resources, name); !room) return std::unexpected(room.error());
  Expected<Tensor> listed = tensor;
  if (has_gaps(tensor.format())) listed = relaid(tensor, without_gaps(tensor.format()), resources, name);
  if (listed) listed = convert(*listed, without_gaps(format), resources, name);
  return listed && has_gaps(format) ? relaid(*listed, format, resources, name) : listed;
}

}  // namespace

Expected<Tensor> in_plain_format(const Tensor& tensor, const Resources& resources, std::string_view name) {
  return tensor.format().layout ? convert(tensor, sparse_format(tensor.order(), tensor.format().scalar), resources, name) : tensor;
}

bool values_decide_pattern(const Tensor& from, const Format& to) {
  if (to.layout) return true;  // zeros without a place are left out
  if (from.format().layout) return from.padded();
  // Some mode leaves the blocks, so that their zeros would become entries of their own.
  const std::vector<std::uint32_t> kept = block_modes(to);
  return std::ranges::any_of(block_modes(from.format()),
                             [&](std::uint32_t mode) { return std::ranges::find(kept, mode) == kept.end(); });
}

static Expected<Tensor> converted(const Tensor& tensor, const Format& format, const Resources& resources,
                                  std::string_view name) {
  if (tensor.format() == format) return tensor;
  if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
  if (auto checked = check_buildable(format, tensor.extents(), name); !checked)
    return std::unexpected(checked.error());
  if (tensor.format().layout) {
    const Zeros zeros = tensor.padded() ? Zeros::without_sign_left_out : Zeros::kept;
    if (const auto by_rows = made_of_rows(*tensor.format().layout, tensor.extents(), tensor.nnz())) {
      auto rows = by_rows->rows_of(tensor, zeros, resources, name);
      return rows ? converted(*rows, format, resources, name) : rows;
    }
    auto listed = entries_with_layout(tensor, zeros, resources);
    if (!listed) return std::unexpected(listed.error());
    return format.layout && !made_of_rows(*format.layout, listed->extents, listed->count)
               ? build_with_layout(std::move(*listed), true, format, resources, name)
               : build_checked(std::move(*listed), format, {}, resources, name);
  }
  if (format.layout) {
    if (const auto by_rows = made_of_rows(*format.layout, tensor.extents(), tensor.nnz())) {
      auto rows = converted(tensor, by_rows->rows(format.scalar), resources, name);
      return rows ? by_rows->made(*rows, format, resources, name) : rows;
    }
    auto listed = entries(tensor, !block_modes(tensor.format()).empty(), resources);
    if (!listed) return std::unexpected(listed.error());
    return build_with_layout(std::move(*listed), true, format, resources, name);
  }
  if (has_gaps(tensor.format()) || has_gaps(format)) return with_gaps_converted(tensor, format, resources, name);
  if (same_layout(tensor.format(), format)) return with_other_widths(tensor, format, resources, name);
  if (tensor.format().all_dense() && format.all_dense()) return permuted_dense(tensor, format, resources, name);
  if (opens_levels(tensor.format(), format)) {
    auto opened = with_open_levels(tensor, format, resources, name);
    if (!opened || opened->format() == format) return opened;
    return with_other_widths(*opened, format, resources, name);
  }
  auto columns = transposed_rows(tensor, format, resources, name);
  if (!columns) return std::unexpected(columns.error());
  if (*columns) return std::move(**columns);
  auto listed = entries(tensor, values_decide_pattern(tensor, format), resources);
  if (!listed) return std::unexpected(listed.error());
  return build_checked(std::move(*listed), format, tensor.format().mode_order, resources, name);
}

namespace {

/// Whether every stored coordinate of a level stays below the extent; the first that does not.
Expected<void> check_fits(const Tensor& tensor, std::size_t l, std::uint64_t extent, const Resources& resources,
                          std::string_view name) {
  const std::uint32_t mode = tensor.format().mode_order[l];
  const unsigned bits = tensor.format().levels[l].crd_bits;
  const std::uint64_t count = tensor.levels()[l].crd.size_bytes() / (bits / 8);
  const Blocks blocks(count, resources.threads);
  std::vector<std::uint64_t> largest(blocks.number, 0);
  with_width(bits, [&]<class T>(T) {
    auto crd = tensor.levels()[l].crd.as<T>();
    for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      T found = 0;
      for (std::uint64_t n = begin; n < end; ++n) found = std::max(found, crd[n]);
      largest[block] = found;
    });
  });
  auto found = std::max_element(largest.begin(), largest.end());
  if (found != largest.end() && *found >= extent)
    return fail(ErrorKind::input, ErrorCode::out_of_range, name,
                fmt::format("coordinate {} of {} in mode {} is not below the extent {}", *found, name, mode, extent));
  return {};
}

/// A compressed root below one dense level (CSR and its like): more rows are more empty fibers at the end of pos.
Expected<Buffer> extended_pos(const Buffer& array, unsigned bits, std::uint64_t elements, const Resources& resources,
                              std::string_view name) {
  auto buffer = Buffer::allocate(elements * (bits / 8), resources.memory, name);
  if (!buffer) return buffer;
  with_width(bits, [&]<class T>(T) {
    auto from = array.as<T>();
    auto to = buffer->as<T>();
    std::copy(from.begin(), from.end(), to.begin());
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(from.size()), to.end(), from.empty() ? T{0} : from.back());
  });
  return buffer;
}

}  // namespace

static Expected<Tensor> extended(const Tensor& tensor, std::vector<std::uint64_t> extents, const Resources& resources,
                                 std::string_view name) {
  if (extents == tensor.extents()) return tensor;
  if (extents.size() != tensor.order())
    return input_error(fmt::format("{} has order {}, but {} extents were given", name, tensor.order(), extents.size()));
  if (auto checked = check_extents(extents, name); !checked) return std::unexpected(checked.error());
  if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
  if (tensor.format().layout) {
    auto listed = in_plain_format(tensor, resources, name);
    if (listed) listed = with_extents(*listed, std::move(extents), resources, name);
    return listed ? convert(*listed, tensor.format(), resources, name) : listed;
  }
  if (has_gaps(tensor.format())) {
    if (auto room = room_for_gaps(tensor.format(), extents, {}, resources, name); !room) return std::unexpected(room.error());
    auto listed = relaid(tensor, without_gaps(tensor.format()), resources, name);
    if (listed) listed = with_extents(*listed, std::move(extents), resources, name);
    return listed ? relaid(*listed, tensor.format(), resources, name) : listed;
  }
  bool dense_changes = false;  // a dense level other than a root above a compressed one
  bool root_grows = false;
  for (std::size_t l = 0; l < tensor.order(); ++l) {
    const std::uint64_t from = tensor.extent_of_level(l);
    const std::uint64_t to = extents[tensor.format().mode_order[l]];
    if (is_dense(tensor.format().levels[l].kind)) {
      if (from == to) continue;
      const bool over_pos = l == 0 && tensor.order() > 1 &&
                            (is_compressed(tensor.format().levels[1].kind) ||
                             begins_chain(tensor.format().levels[1].kind));
      (over_pos && to > from ? root_grows : dense_changes) = true;
    } else if (to < from) {
      if (auto fits = check_fits(tensor, l, to, resources, name); !fits) return std::unexpected(fits.error());
    }
  }
  if (dense_changes) {
    auto listed = entries(tensor, !block_modes(tensor.format()).empty(), resources);
    if (!listed) return std::unexpected(listed.error());
    for (std::size_t m = 0; m < extents.size(); ++m) {
      // Coordinates are as wide as their extent asks, and that may have changed; range is checked by the build.
      const unsigned from_bits = coordinate_bits(tensor.extents()[m]);
      const unsigned to_bits = coordinate_bits(extents[m]);
      if (from_bits > to_bits) {
        for (std::size_t l = 0; l < tensor.order(); ++l)
          if (tensor.format().mode_order[l] == m && is_dense(tensor.format().levels[l].kind))
            return input_error(fmt::format("mode {} of {} shrinks from {} to {}", m, name, tensor.extents()[m], extents[m]));
      }
      auto crd = converted_indices(listed->crd[m], from_bits, to_bits, resources, name);
      if (!crd) return std::unexpected(crd.error());
      listed->crd[m] = std::move(*crd);
    }
    listed->extents = std::move(extents);
    Format format = tensor.format();
    for (Level& level : format.levels) level.strided = false;
    return build_from(std::move(*listed), std::move(format), tensor.format().mode_order, resources, name);
  }

  TensorArrays result = tensor.arrays();
  result.extents = std::move(extents);
  if (root_grows) {
    auto pos = extended_pos(tensor.levels()[1].pos, tensor.format().levels[1].pos_bits, result.extent_of_level(0) + 1,
                            resources, name);
    if (!pos) return std::unexpected(pos.error());
    result.levels[1].pos = std::move(*pos);
  }
  for (std::size_t l = 0; l < result.order(); ++l) {
    Level& level = result.format.levels[l];
    if (is_dense(level.kind) || level.crd_bits == 64 || coordinate_bits(result.extent_of_level(l)) == 32)
      continue;
    auto crd = converted_indices(result.levels[l].crd, 32, 64, resources, name);
    if (!crd) return std::unexpected(crd.error());
    result.levels[l].crd = std::move(*crd);
    level.crd_bits = 64;
  }
  return made(std::move(result));
}

Expected<Tensor> convert(const Tensor& tensor, const Format& format, const Resources& resources,
                         std::string_view name) {
  return guarded({"converting ", name}, [&] { return converted(tensor, format, resources, name); });
}

Expected<Tensor> with_extents(const Tensor& tensor, std::vector<std::uint64_t> extents, const Resources& resources,
                              std::string_view name) {
  return guarded({"extending ", name}, [&] { return extended(tensor, std::move(extents), resources, name); });
}

}  // namespace weft
