// Building from coordinates whose order is partly known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/tensor.h"

namespace weft {

/// As build(), for entries known to be lexicographically ordered by `already` (a list of modes, possibly empty). What
/// follows from that order is not sorted again.
Expected<Tensor> build_from(Coordinates coordinates, Format format, std::span<const std::uint32_t> already,
                            const Resources& resources, std::string_view name);

/// The same of coordinates that are those of a tensor, in a format that can be built.
Expected<Tensor> build_checked(Coordinates coordinates, Format format, std::span<const std::uint32_t> already,
                               const Resources& resources, std::string_view name);

/// Coordinates by LEVEL, lexicographically sorted by level; duplicates are neighbours.
struct SortedEntries {
  std::vector<std::uint64_t> extents;  ///< by level
  std::vector<Buffer> crd;             ///< by level, widths by coordinate_bits(extent)
  Buffer values;
  Scalar scalar = Scalar::f64;
  std::uint64_t count = 0;
  /// Of variable levels: the length of a fiber, by the coordinates of the levels above. None, or empty: up to its last entry.
  std::vector<std::function<std::uint64_t(std::span<const std::uint64_t> above)>> lengths = {};
  std::vector<std::size_t> starts = {};  ///< singletons whose parents need no entry: 0 stands there
  const Layout* layout = nullptr;          ///< whose levels these are, for messages; null: of the format
};

std::uint64_t bytes_of(const Coordinates& coordinates);

/// Coordinates by level, sorted. Consumes them.
Expected<SortedEntries> sorted_by(Coordinates coordinates, std::span<const std::uint32_t> modes,
                                  std::span<const std::uint32_t> already, const Resources& resources, std::string_view name);

/// The level arrays and values of sorted entries; equal neighbours are summed. `extents` by mode. `distinct`: where the number
/// of entries with different coordinates is told.
Expected<Tensor> assemble(SortedEntries entries, Format format, std::vector<std::uint64_t> extents,
                          const Resources& resources, std::string_view name, std::uint64_t* distinct = nullptr);

/// Input error if one is above largest_extent.
Expected<void> check_extents(std::span<const std::uint64_t> extents, std::string_view name);

/// Input error if a kind of a level, or the scalar type, is none of those there are.
Expected<void> check_known(const Format& format, std::string_view name);

/// Input or unsupported error if no tensor has the format, over whatever extents; strided ones are those of hosts.
Expected<void> check_levels(const Format& format, std::string_view name);

/// Input or unsupported error if no tensor over these extents can be built in the format, whatever it stores.
Expected<void> check_buildable(const Format& format, std::span<const std::uint64_t> extents, std::string_view name);

}  // namespace weft
