// Placement: a layout over extents. Where coordinates of modes stand among those of levels, and back.
//
// The coordinate of a level is its value less the first one of its range, so that all count from 0: of j-i over 3 by 4 it is
// j - i + 2. A range is what the extents give (its natural range) within what the layout says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/affine.h"
#include "weft/layout.h"

namespace weft {

/// Of one level. Bounds that are no numbers depend on the levels above: `low` and `high`, expressions of these levels' values,
/// narrow the range there.
struct PlacedLevel {
  ValueRange range;               ///< of its values, the natural range within bounds that are numbers; of slots from 0 on
  std::optional<Affine> low;
  std::optional<Affine> high;   ///< behind the last
  std::uint64_t extent = 0;     ///< of its coordinates; of slots without a number what data have: 0
  bool narrowed = false;        ///< the layout leaves out values of the natural range
  bool varies() const { return low || high; }
  /// The values there are below levels with these values.
  ValueRange at(std::span<const std::int64_t> levels) const;
};

/// A level of slots, and the singletons below that say what stands in them: levels `first` to `behind`.
struct PlacedSlots {
  std::size_t level = 0;
  std::size_t first = 0;   ///< dense levels may lie between the slots and these
  std::size_t behind = 0;
  bool unordered = false;  ///< the singletons come in any order, each coordinate once; else they rise with the slot
};

/// A free name: the level of its starts, and the one that counts from them.
struct PlacedStarts {
  std::uint32_t name = 0;  ///< as expressions have it
  std::size_t level = 0;
  std::size_t counted = 0;
};

class Placement {
 public:
  /// Input errors: another number of modes; coordinates that share a place, by example where a search finds one; levels that
  /// cannot be inverted; bounds that the levels above do not tell; numbers beyond 2^63 - 1, or beyond the bits of a level.
  static Expected<Placement> of(const Layout& layout, std::span<const std::uint64_t> extents, std::string_view name);

  const Layout& layout() const { return layout_; }
  const std::vector<std::uint64_t>& extents() const { return extents_; }
  const std::vector<PlacedLevel>& levels() const { return levels_; }
  std::vector<std::uint64_t> level_extents() const;
  /// Ranges of the modes and the free names.
  const std::vector<ValueRange>& ranges() const { return ranges_; }
  /// A mode, or a free name, as an expression of the levels' values.
  const Affine& inverse(std::size_t variable) const { return inverse_[variable]; }
  /// Whether inverses follow only where coordinates have a place, as i = c0 of i%8:d(2..4) over 9: other values of levels may lead to
  /// modes whose levels hold something else.
  bool inverse_within_bounds() const { return inverse_within_bounds_; }

  /// Levels of slots, outermost first.
  const std::vector<PlacedSlots>& slots() const { return slots_; }
  /// Free names, in the order of the levels of their starts.
  const std::vector<PlacedStarts>& starts() const { return starts_; }
  bool is_slot(std::size_t level) const { return !layout_.levels[level].value; }
  const PlacedSlots* slots_of_singleton(std::size_t level) const;  ///< null: it is none of a slot
  const PlacedStarts* starts_at(std::size_t level) const;          ///< null: no starts stand there
  bool is_counted(std::size_t level) const;                        ///< from a start
  /// Levels where something stands that the coordinates alone do not tell.
  bool depends_on_data() const { return !slots_.empty() || !starts_.empty(); }
  /// Whether every coordinate has a place whatever else is stored.
  bool total() const;
  /// Whether there may be level coordinates that are no coordinates of modes, or positions that were not asked for.
  bool adds_places() const;

  /// The coordinates of the levels; false: there is no place. Of layouts that do not depend on data.
  bool place(std::span<const std::uint64_t> coordinates, std::span<std::uint64_t> levels) const;
  /// The coordinates of the modes; false: nothing of the tensor stands there.
  bool coordinates(std::span<const std::uint64_t> levels, std::span<std::uint64_t> coordinates) const;

  /// "i = 4*I + r" as a text of levels c0, c1, …: "i = 4*c0+c2".
  std::string inverse_text(std::size_t mode) const;

 private:
  void find_slots();
  void find_starts();
  bool starts_no_block(std::size_t level) const;
  Expected<void> find_ranges(std::string_view name);
  Expected<void> find_bounds(std::string_view name);
  Expected<void> find_inverse(std::string_view name);
  std::unexpected<Error> bounds_not_told(std::size_t level, std::string_view name) const;
  std::vector<ValueRange> ranges_of_places() const;
  std::optional<std::uint32_t> solve(const std::vector<ValueRange>& ranges);
  bool within_bounds(std::span<const std::int64_t> coordinates) const;
  std::unexpected<Error> not_inverted(std::uint32_t variable, std::string_view name) const;

  Layout layout_;
  std::vector<std::uint64_t> extents_;
  std::vector<ValueRange> ranges_;
  std::vector<PlacedLevel> levels_;
  std::vector<Affine> inverse_;
  bool inverse_within_bounds_ = false;
  std::vector<PlacedSlots> slots_;
  std::vector<PlacedStarts> starts_;
};

/// The coordinates as messages name them: "(2,5)".
std::string coordinates_text(std::span<const std::uint64_t> coordinates);

}  // namespace weft
