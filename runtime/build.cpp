#include "runtime/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/made_of_rows.h"
#include "runtime/blocks.h"
#include "runtime/counted_order.h"
#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/layout_entries.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/scalar_traits.h"
#include "runtime/sort.h"
#include "weft/layout.h"

namespace weft {

Expected<void> check_extents(std::span<const std::uint64_t> extents, std::string_view name) {
  for (std::size_t mode = 0; mode < extents.size(); ++mode)
    if (extents[mode] > largest_extent)
      return input_error(fmt::format("the extent {} of {} in mode {} is above 2^63 - 1", extents[mode], name, mode));
  return {};
}

static Expected<void> check_order(std::size_t order, std::string_view name) {
  constexpr std::size_t largest_order = 32;  // a set of modes is a 32-bit mask everywhere
  if (order <= largest_order) return {};
  return unsupported(fmt::format("{} has order {}; orders above {} are not supported", name, order, largest_order));
}

Expected<void> check_known(const Format& format, std::string_view name) {
  if (!is_known(format.scalar))
    return input_error(fmt::format("format of {}: there is no scalar type {}", name, static_cast<unsigned>(format.scalar)));
  for (std::size_t l = 0; l < format.order(); ++l) {
    if (!is_known(format.levels[l].kind))
      return input_error(fmt::format("format {} of {}: level {} is of a kind {}, which there is not", format.text(), name, l,
                                     static_cast<unsigned>(format.levels[l].kind)));
  }
  return {};
}

Expected<void> check_levels(const Format& format, std::string_view name) {
  if (auto known = check_known(format, name); !known) return known;
  const std::size_t order = format.order();
  if (format.layout) {
    if (format.layout->levels.size() == order) return {};
    return input_error(fmt::format("format {} of {}: {} levels beside a layout of {}", format.text(), name, order,
                                   format.layout->levels.size()));
  }
  if (auto checked = check_order(order, name); !checked) return checked;
  if (format.mode_order.size() != order)
    return input_error(fmt::format("format {} of {}: a mode order of {} modes for {} levels", format.text(), name,
                                   format.mode_order.size(), order));
  std::uint64_t seen = 0;
  for (std::uint32_t mode : format.mode_order) {
    if (mode >= order || (seen >> mode & 1) != 0)
      return input_error(fmt::format("the mode order of format {} of {} does not list every mode once", format.text(),
                                     name));
    seen |= std::uint64_t{1} << mode;
  }
  for (std::size_t l = 0; l < order; ++l) {
    const Level& level = format.levels[l];
    if (has_lengths(level.kind))
      return input_error(fmt::format("format {} of {}: level {} is variable (v), which only layouts have", format.text(), name, l));
    if (is_listed(level.kind))
      return input_error(fmt::format("format {} of {}: level {} is an accumulator, which only workspaces have",
                                     format.text(), name, l));
    if (is_per_parent(level.kind) && l == 0)
      return input_error(fmt::format("format {} of {}: a singleton cannot be the first level", format.text(), name));
    if (is_per_parent(level.kind) && below_gaps(format.levels, l))
      return input_error(fmt::format("format {} of {}: level {} is a singleton (q), which needs an entry at every position "
                                     "above, but a hashed or bitmap level has positions without",
                                     format.text(), name, l));
    if (begins_chain(level.kind) && l + 1 < order &&
        !is_per_parent(format.levels[l + 1].kind))
      return input_error(fmt::format("format {} of {}: level {} repeats coordinates, so a singleton must follow",
                                     format.text(), name, l));
    if ((level.pos_bits != 32 && level.pos_bits != 64) || (level.crd_bits != 32 && level.crd_bits != 64))
      return input_error(fmt::format("format {} of {}: index widths of level {} must be 32 or 64 bits", format.text(),
                                     name, l));
  }
  return {};
}

Expected<void> check_buildable(const Format& format, std::span<const std::uint64_t> extents, std::string_view name) {
  if (auto checked = check_order(extents.size(), name); !checked) return checked;
  if (auto known = check_known(format, name); !known) return known;
  if (!format.layout && format.order() != extents.size())
    return input_error(fmt::format("format {} of {} has {} levels, but the tensor has order {}", format.text(), name,
                                   format.order(), extents.size()));
  if (auto checked = check_extents(extents, name); !checked) return checked;
  if (auto checked = check_levels(format, name); !checked) return checked;
  if (format.layout) {
    const auto placement = Placement::of(*format.layout, extents, name);
    if (!placement) return std::unexpected(placement.error());
    return {};
  }
  if (std::ranges::any_of(format.levels, &Level::strided))
    return input_error(fmt::format("format of {}: strided levels describe host memory and cannot be built", name));
  return {};
}

namespace {

Expected<void> check_shape(const Coordinates& coordinates, std::string_view name) {
  auto defect = [&](const std::string& what) {
    return internal_error(fmt::format("coordinates of {}: {}", name, what));
  };
  if (coordinates.crd.size() != coordinates.extents.size())
    return defect(fmt::format("{} coordinate arrays for order {}", coordinates.crd.size(), coordinates.extents.size()));
  for (std::size_t m = 0; m < coordinates.crd.size(); ++m)
    if (coordinates.crd[m].size_bytes() / (coordinate_bits(coordinates.extents[m]) / 8) < coordinates.count)
      return defect(fmt::format("array of mode {} is too short for {} entries", m, coordinates.count));
  if (coordinates.values.size_bytes() / scalar_bytes(coordinates.scalar) < coordinates.count)
    return defect(fmt::format("too few values for {} entries", coordinates.count));
  return {};
}

Expected<void> check_range(const Coordinates& coordinates, const Resources& resources, std::string_view name) {
  for (std::size_t mode = 0; mode < coordinates.extents.size(); ++mode) {
    const std::uint64_t extent = coordinates.extents[mode];
    const Blocks blocks(coordinates.count, resources.threads);
    std::vector<std::uint64_t> offender(blocks.number, saturated);
    with_width(coordinate_bits(extent), [&]<class T>(T) {
      auto crd = coordinates.crd[mode].as<T>();
      for_blocks(resources.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
        T largest = 0;
        for (std::uint64_t i = begin; i < end; ++i) largest = std::max(largest, crd[i]);
        if (begin < end && largest >= extent)
          for (std::uint64_t i = begin; offender[block] == saturated; ++i)
            if (crd[i] >= extent) offender[block] = i;
      });
    });
    for (std::uint64_t entry : offender)
      if (entry != saturated)
        return fail(ErrorKind::input, ErrorCode::out_of_range, name,
                    fmt::format("coordinate {} of {} in mode {} is not below the extent {} (entry {})",
                                Indices(coordinates.crd[mode], coordinate_bits(extent))[entry], name, mode, extent, entry));
  }
  return {};
}

/// array[permutation[n]] for all n.
Expected<Buffer> gathered(const Buffer& array, unsigned element_bits, const Buffer& permutation, unsigned number_bits,
                          std::uint64_t count, const Resources& resources, std::string_view name) {
  auto result = Buffer::allocate(count * (element_bits / 8), resources.memory, fmt::format("sorting {}", name));
  if (!result) return result;
  with_width(element_bits, [&]<class T>(T) {
    with_width(number_bits, [&]<class N>(N) {
      auto from = array.as<T>();
      auto numbers = permutation.as<N>();
      auto to = result->as<T>();
      for_blocks(resources.threads, Blocks(count, resources.threads),
                 [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                   for (std::uint64_t i = begin; i < end; ++i) to[i] = from[numbers[i]];
                 });
    });
  });
  return result;
}

}  // namespace

std::uint64_t bytes_of(const Coordinates& coordinates) {
  std::uint64_t bytes = coordinates.values.size_bytes();
  for (const Buffer& crd : coordinates.crd) bytes += crd.size_bytes();
  return bytes;
}

Expected<SortedEntries> sorted_by(Coordinates coordinates, std::span<const std::uint32_t> modes,
                                  std::span<const std::uint32_t> already, const Resources& resources, std::string_view name) {
  SortedEntries sorted;
  sorted.count = coordinates.count;
  sorted.scalar = coordinates.scalar;
  sorted.crd.resize(modes.size());
  for (std::uint32_t mode : modes) sorted.extents.push_back(coordinates.extents[mode]);

  const bool known = std::equal(modes.begin(), modes.end(), already.begin(), already.end());
  if (known || ordered_by(coordinates, modes, resources)) {
    for (std::size_t l = 0; l < modes.size(); ++l) sorted.crd[l] = std::move(coordinates.crd[modes[l]]);
    sorted.values = std::move(coordinates.values);
  } else {
    // Files are mostly sorted in their own mode order, which makes most keys of another order redundant.
    std::vector<std::uint32_t> natural(coordinates.extents.size());
    std::iota(natural.begin(), natural.end(), 0u);
    if (already.empty() && ordered_by(coordinates, natural, resources)) already = natural;
    auto counted = in_counted_order(coordinates, modes, needed_keys(modes, already).size() == 1, resources, name);
    if (!counted) return std::unexpected(counted.error());
    if (*counted) return std::move(**counted);
    auto permutation = sorted_permutation(coordinates, modes, already, resources);
    if (!permutation) return std::unexpected(permutation.error());
    const unsigned number_bits = coordinate_bits(coordinates.count);
    for (std::size_t l = 0; l < modes.size(); ++l) {
      Buffer crd = std::exchange(coordinates.crd[modes[l]], {});
      auto moved = gathered(crd, coordinate_bits(sorted.extents[l]), *permutation, number_bits, sorted.count,
                            resources, name);
      if (!moved) return std::unexpected(moved.error());
      sorted.crd[l] = std::move(*moved);
    }
    auto moved = gathered(coordinates.values, scalar_bytes(sorted.scalar) * 8, *permutation, number_bits, sorted.count,
                          resources, name);
    if (!moved) return std::unexpected(moved.error());
    sorted.values = std::move(*moved);
    coordinates.values = {};
  }
  return sorted;
}

Expected<Tensor> build_from(Coordinates coordinates, Format format, std::span<const std::uint32_t> already,
                            const Resources& resources, std::string_view name) {
  if (auto checked = check_buildable(format, coordinates.extents, name); !checked)
    return std::unexpected(checked.error());
  if (auto checked = check_shape(coordinates, name); !checked) return std::unexpected(checked.error());
  if (auto checked = check_range(coordinates, resources, name); !checked) return std::unexpected(checked.error());
  return build_checked(std::move(coordinates), std::move(format), already, resources, name);
}

Expected<Tensor> build_checked(Coordinates coordinates, Format format, std::span<const std::uint32_t> already,
                               const Resources& resources, std::string_view name) {
  if (format.layout) {
    if (const auto by_rows = made_of_rows(*format.layout, coordinates.extents, coordinates.count)) {
      auto rows = build_checked(std::move(coordinates), by_rows->rows(format.scalar), already, resources, name);
      return rows ? by_rows->made(*rows, format, resources, name) : rows;
    }
    return build_with_layout(std::move(coordinates), false, format, resources, name);
  }
  if (has_gaps(format)) {
    const KnownAhead known{.least = std::vector(format.order(), std::min<std::uint64_t>(coordinates.count, 1)),
                           .most = coordinates.count,
                           .given_back = bytes_of(coordinates)};
    if (auto room = room_for_gaps(format, coordinates.extents, known, resources, name); !room) return std::unexpected(room.error());
    auto listed = build_checked(std::move(coordinates), without_gaps(format), already, resources, name);
    return listed ? relaid(*listed, format, resources, name) : listed;
  }
  std::vector<std::uint64_t> extents = coordinates.extents;
  auto sorted = sorted_by(std::move(coordinates), format.mode_order, already, resources, name);
  if (!sorted) return std::unexpected(sorted.error());
  return assemble(std::move(*sorted), std::move(format), std::move(extents), resources, name);
}

Expected<Tensor> build(Coordinates coordinates, Format format, const Resources& resources, std::string_view name) {
  return guarded({"building ", name}, [&]() -> Expected<Tensor> {
    return build_from(std::move(coordinates), std::move(format), {}, resources, name);
  });
}

}  // namespace weft
