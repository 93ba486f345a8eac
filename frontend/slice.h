// Slices as numpy writes them, "2:5, ::2, -1": their text, and what they select of given extents.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/error.h"

namespace weft {

/// "start:stop:step"; what is absent has numpy's default.
struct SliceRange {
  std::optional<std::int64_t> start, stop, step;
  bool operator==(const SliceRange&) const = default;
};
/// "...": as many ':' as modes are missing.
struct SliceEllipsis {
  bool operator==(const SliceEllipsis&) const = default;
};
using SlicePart = std::variant<std::int64_t, SliceRange, SliceEllipsis>;
using Slice = std::vector<SlicePart>;

/// What stands between the brackets. Input error with a picture of `text`.
Expected<Slice> parse_slice(std::string_view text);

/// The coordinates start, start + step, … of one mode, `count` of them. A mode given by one number is dropped.
struct Selected {
  std::uint64_t start = 0;
  std::int64_t step = 1;
  std::uint64_t count = 0;
  bool dropped = false;
  bool operator==(const Selected&) const = default;

  std::uint64_t coordinate(std::uint64_t place) const { return start + place * static_cast<std::uint64_t>(step); }
  /// Where a coordinate stands in the selection; nothing if it is not selected.
  std::optional<std::uint64_t> place(std::uint64_t coordinate) const;
  /// Whether all are below an extent, and one alone if the mode is dropped.
  bool within(std::uint64_t extent) const;
  std::uint64_t lowest() const;   ///< of a selection that is not empty
  std::uint64_t highest() const;  ///< likewise
};

/// By mode. Numbers below 0 count from the end, ranges are cut to the extent, modes that are not given are whole.
/// Input errors naming `name` and the mode: a number outside the extent, a step of 0, more parts than modes.
Expected<std::vector<Selected>> select(const Slice& slice, const std::vector<std::uint64_t>& extents,
                                       std::string_view name);

/// Everything.
std::vector<Selected> select_all(const std::vector<std::uint64_t>& extents);

}  // namespace weft
