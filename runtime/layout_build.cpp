// Building tensors with a layout: coordinates of modes to those of levels, and what needs a look at sorted neighbours before.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/build.h"
#include "runtime/computed_places.h"
#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/layout_entries.h"
#include "runtime/level_tensor.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/row_groups.h"
#include "runtime/scalar_traits.h"
#include "runtime/selected.h"
#include "runtime/sort.h"

namespace weft {
namespace {

std::vector<std::uint32_t> numbers_below(std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

/// A column that is written to, whatever its width.
class WrittenColumn {
 public:
  WrittenColumn(Buffer& buffer, unsigned bits) : data_(buffer.data()), wide_(bits == 64) {}
  void put(std::uint64_t n, std::uint64_t value) const {
    if (wide_)
      static_cast<std::uint64_t*>(data_)[n] = value;
    else
      static_cast<std::uint32_t*>(data_)[n] = static_cast<std::uint32_t>(value);
  }

 private:
  void* data_;
  bool wide_;
};

class LayoutBuild {
 public:
  LayoutBuild(Coordinates modes, bool distinct, const Format& format, Placement placement, const Resources& resources,
              std::string_view name)
      : modes_(std::move(modes)),
        distinct_(distinct),
        format_(format),
        layout_(*format.layout),
        placement_(std::move(placement)),
        resources_(resources),
        name_(name) {}

  Expected<Tensor> run() {
    extents_ = modes_.extents;
    if (!distinct_ && (placement_.depends_on_data() || (have_computed_places(format_) && !has_order_of_input())))
      if (auto done = sum_duplicates(); !done) return std::unexpected(done.error());
    if (auto done = place(); !done) return std::unexpected(done.error());
    for (const PlacedStarts& starts : placement_.starts())
      if (auto done = choose_starts(starts); !done) return std::unexpected(done.error());
    modes_ = {};
    for (const PlacedSlots& slots : placement_.slots())
      if (auto done = number_slots(slots); !done) return std::unexpected(done.error());
    if (distinct_ && have_computed_places(format_)) {
      auto tensor = in_computed_places(levels_, without_gaps(level_format(format_)), order_of_coordinates(), resources_, name_);
      if (!tensor) return std::unexpected(tensor.error());
      if (*tensor) return finished(std::move(**tensor), levels_.count);
    }
    for (std::size_t l = 0; l < order(); ++l)
      if (order_of(l) != LevelOrder::ascending)
        if (auto done = rank(l); !done) return std::unexpected(done.error());
    return assembled();
  }

 private:
  std::size_t order() const { return layout_.levels.size(); }

  Expected<Buffer> allocate(std::uint64_t count, std::uint64_t bytes) const {
    return Buffer::allocate(saturating_product(count, bytes), resources_.memory, name_);
  }
  Expected<void> add_column(Coordinates& list, std::size_t column) const {
    auto crd = allocate(list.count, coordinate_bits(list.extents[column]) / 8);
    if (!crd) return std::unexpected(crd.error());
    list.crd[column] = std::move(*crd);
    return {};
  }
  WrittenColumn column(Coordinates& list, std::size_t number) const { return {list.crd[number], coordinate_bits(list.extents[number])}; }
  static Indices read(const Coordinates& list, std::size_t number) { return {list.crd[number], coordinate_bits(list.extents[number])}; }

  /// Slots and blocks hold every coordinate once.
  Expected<void> sum_duplicates() {
    const Format plain = sparse_format(modes_.extents.size(), modes_.scalar);
    auto summed = build_checked(std::move(modes_), plain, {}, resources_, name_);
    if (!summed) return std::unexpected(summed.error());
    auto list = entries(*summed, false, resources_);
    if (!list) return std::unexpected(list.error());
    modes_ = std::move(*list);
    distinct_ = true;
    return {};
  }

  bool has_order_of_input() const {
    return std::ranges::any_of(layout_.levels, [](const LayoutLevel& level) { return order_of(level) == LevelOrder::unordered; });
  }

  /// In which order what is built has coordinates: singletons of slots ascend, as of those that come in no order any will do.
  static LevelOrder order_of(const LayoutLevel& level) { return is_per_parent(level.kind) ? LevelOrder::ascending : level.order; }
  LevelOrder order_of(std::size_t l) const { return order_of(layout_.levels[l]); }

  bool is_computed(std::size_t l) const { return !placement_.is_slot(l) && !placement_.starts_at(l) && !placement_.is_counted(l); }

  std::string building() const { return fmt::format("building {}", name_); }

  /// The levels that the coordinates alone tell. Slots are all number 0 until they are numbered.
  Expected<void> place() {
    levels_.extents = placement_.level_extents();
    for (const PlacedSlots& slots : placement_.slots()) levels_.extents[slots.level] = 1;
    levels_.crd.resize(order());
    levels_.scalar = modes_.scalar;
    levels_.count = modes_.count;
    for (std::size_t l = 0; l < order(); ++l)
      if (is_computed(l))
        if (auto done = add_column(levels_, l); !done) return done;
    auto keep = allocate(placement_.total() ? 0 : modes_.count, 1);
    if (!keep) return std::unexpected(keep.error());
    const std::vector<std::int64_t> no_offsets(modes_.crd.size(), 0);
    const Blocks blocks(modes_.count, resources_.threads);
    std::vector<std::uint64_t> offender(blocks.number, saturated);
    const auto kept = keep->as<std::uint8_t>();
    std::ranges::fill(kept, std::uint8_t{1});
    for_tiles(modes_, no_offsets, blocks, resources_,
              [&](std::uint64_t begin, std::span<const std::span<const std::int64_t>> columns, std::uint64_t block) {
                place_tile(begin, columns, kept, offender[block]);
              });
    if (auto goes_on = check_not_cancelled(resources_, building()); !goes_on) return goes_on;
    for (const std::uint64_t entry : offender)
      if (entry != saturated) return without_place(entry);
    levels_.values = std::exchange(modes_.values, {});
    if (kept.empty()) return add_slot_columns();
    auto placed = selected(std::move(levels_), *keep, resources_, name_);
    if (!placed) return std::unexpected(placed.error());
    levels_ = std::move(*placed);
    if (auto done = add_slot_columns(); !done || placement_.starts().empty()) return done;
    auto also = selected(std::move(modes_), *keep, resources_, name_);
    if (!also) return std::unexpected(also.error());
    modes_ = std::move(*also);
    return {};
  }

  Expected<void> add_slot_columns() {
    for (const PlacedSlots& slots : placement_.slots())
      if (auto done = add_column(levels_, slots.level); !done) return done;
    return {};
  }

  void place_tile(std::uint64_t begin, std::span<const std::span<const std::int64_t>> columns, std::span<std::uint8_t> kept,
                  std::uint64_t& offender) {
    const std::size_t count = columns.empty() ? 0 : columns.front().size();
    std::vector<std::int64_t> value(count);
    std::vector<std::int64_t> least(count);
    std::vector<std::int64_t> most(count);
    for (std::size_t l = 0; l < order(); ++l) {
      if (!is_computed(l)) continue;
      const PlacedLevel& level = placement_.levels()[l];
      layout_.levels[l].value->at(columns, value);
      bounds(l, columns, least, most);
      std::size_t without = 0;
      for (std::size_t n = 0; n < count; ++n) without += (value[n] < least[n]) + (value[n] > most[n]);
      for (std::size_t n = 0; n < count && without > 0; ++n) {
        if (value[n] >= least[n] && value[n] <= most[n]) continue;
        kept[begin + n] = 0;
        if (!is_plus_zero(modes_, begin + n)) offender = std::min(offender, begin + n);
        value[n] = least[n];
      }
      for (std::size_t n = 0; n < count; ++n) value[n] -= least[n];
      with_width(coordinate_bits(level.extent), [&]<class T>(T) {
        std::ranges::transform(value, levels_.crd[l].template as<T>().begin() + static_cast<std::ptrdiff_t>(begin),
                               [](std::int64_t each) { return static_cast<T>(each); });
      });
    }
  }

  /// The values that a level has at each of the coordinates.
  void bounds(std::size_t l, std::span<const std::span<const std::int64_t>> columns, std::span<std::int64_t> least,
              std::span<std::int64_t> most) const {
    const PlacedLevel& level = placement_.levels()[l];
    std::ranges::fill(least, level.range.least);
    std::ranges::fill(most, level.range.most);
    std::vector<std::int64_t> bound(level.varies() ? least.size() : 0);
    if (level.low) {
      layout_.levels[l].low->at(columns, bound);
      for (std::size_t n = 0; n < bound.size(); ++n) least[n] = std::max(least[n], bound[n]);
    }
    if (level.high) {
      layout_.levels[l].high->at(columns, bound);
      for (std::size_t n = 0; n < bound.size(); ++n) most[n] = std::min(most[n], bound[n] - 1);
    }
  }

  static bool is_plus_zero(const Coordinates& list, std::uint64_t entry) {
    const double value = value_at(list.values, list.scalar, entry);
    return value == 0 && !std::signbit(value);
  }

  std::unexpected<Error> wrong(const std::string& message) const { return fail(ErrorKind::input, ErrorCode::out_of_range, name_, message); }

  std::vector<std::uint64_t> coordinates_of(std::uint64_t entry) const {
    std::vector<std::uint64_t> coordinates;
    for (std::size_t mode = 0; mode < extents_.size(); ++mode) coordinates.push_back(read(modes_, mode)[entry]);
    return coordinates;
  }

  std::unexpected<Error> without_place(std::uint64_t entry) const {
    const std::vector<std::uint64_t> coordinates = coordinates_of(entry);
    const std::vector<std::int64_t> modes(coordinates.begin(), coordinates.end());
    for (std::size_t l = 0; l < order(); ++l) {
      if (!is_computed(l)) continue;
      ValueRange here = placement_.levels()[l].range;
      if (placement_.levels()[l].low) here.least = std::max(here.least, layout_.levels[l].low->at(modes));
      if (placement_.levels()[l].high) here.most = std::min(here.most, layout_.levels[l].high->at(modes) - 1);
      const std::int64_t value = layout_.levels[l].value->at(modes);
      if (value >= here.least && value <= here.most) continue;
      const std::string values = here.most < here.least ? "no values" : fmt::format("the values {} to {}", here.least, here.most);
      return wrong(fmt::format("{} of {} has no place in the layout {}: level {} has {} there, not {}", coordinates_text(coordinates),
                               name_, layout_.text(), layout_.level_text(l), values, value));
    }
    return wrong(fmt::format("{} of {} has no place in the layout {}", coordinates_text(coordinates), name_, layout_.text()));
  }

  // Starts.

  /// What counts from starts, entry by entry, as a column of its own behind those of the levels above: from 0 on.
  Expected<Coordinates> counted_values(const PlacedStarts& starts) {
    const std::size_t above = starts.level;
    const ValueRange range = placement_.ranges()[starts.name];
    Coordinates keys;
    keys.count = levels_.count;
    for (std::size_t l = 0; l < above; ++l) {
      keys.extents.push_back(levels_.extents[l]);
      keys.crd.push_back(levels_.crd[l]);
    }
    keys.extents.push_back(levels_.extents[above]);
    keys.crd.emplace_back();
    if (auto done = add_column(keys, above); !done) return std::unexpected(done.error());
    const Affine value = layout_.levels[starts.counted].value->plus(Affine::variable(starts.name));
    const WrittenColumn to = column(keys, above);
    for_tiles(modes_, std::vector<std::int64_t>(modes_.crd.size(), 0), Blocks(modes_.count, resources_.threads), resources_,
              [&](std::uint64_t begin, std::span<const std::span<const std::int64_t>> columns, std::uint64_t) {
                std::vector<std::int64_t> values(columns.front().size());
                value.at(columns, values);
                for (std::size_t n = 0; n < values.size(); ++n) to.put(begin + n, static_cast<std::uint64_t>(values[n] - range.least));
              });
    if (auto goes_on = check_not_cancelled(resources_, building()); !goes_on) return std::unexpected(goes_on.error());
    return keys;
  }

  /// Entries in the order of their keys. A block begins at the first entry that the one before does not hold: moved back where
  /// the extent ends, as far as that one lets it. Runs end before a gap. A singleton is one block for each position above.
  /// Starts further out are known: of (a:s, b:s, i-a:d(4), j-b:d(4)) those of rows, whatever their columns, then those of columns
  /// in four rows each.
  Expected<void> choose_starts(const PlacedStarts& placed) {
    const std::size_t starts = placed.level;
    const std::size_t counted = placed.counted;
    auto keys = counted_values(placed);
    if (!keys) return std::unexpected(keys.error());
    auto sorted = sorted_permutation(*keys, numbers_below(starts + 1), {}, resources_);
    if (!sorted) return std::unexpected(sorted.error());
    for (const std::size_t l : {starts, counted})
      if (auto done = add_column(levels_, l); !done) return done;
    const Indices entry_at(*sorted, coordinate_bits(keys->count));
    const Indices values = read(*keys, starts);
    const bool runs = has_lengths(layout_.levels[counted].kind);
    const bool one = is_per_parent(layout_.levels[starts].kind);
    const std::uint64_t width = levels_.extents[counted];
    const std::uint64_t last_start = levels_.extents[starts] - width;
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // behind what the block holds, or behind its last entry so far
    for (std::uint64_t n = 0; n < keys->count; ++n) {
      const std::uint64_t entry = entry_at[n];
      const std::uint64_t value = values[entry];
      const bool first = n == 0 || !same_keys(*keys, entry_at[n - 1], entry, starts);
      if (first) end = 0;
      const bool begins = first || (!one && (runs ? value > end : value >= end));
      if (begins) start = runs ? value : std::max(end, std::min(value, last_start));
      end = runs ? value + 1 : start + width;
      if (!runs && value >= end)
        return wrong(fmt::format("{} of {} has no place in the layout {}: level {} has {} values from its start on, not {}",
                                 coordinates_text(coordinates_of(entry)), name_, layout_.text(), layout_.level_text(counted), width,
                                 value - start + 1));
      column(levels_, starts).put(entry, start);
      column(levels_, counted).put(entry, value - start);
    }
    return {};
  }

  static bool same_keys(const Coordinates& keys, std::uint64_t a, std::uint64_t b, std::size_t columns) {
    for (std::size_t c = 0; c < columns; ++c)
      if (read(keys, c)[a] != read(keys, c)[b]) return false;
    return true;
  }

  // Slots.

  /// The levels in the order in which slots are numbered: those above, those between them and the singletons, the singletons, those below.
  struct SlotLevels {
    std::size_t slot = 0;
    std::size_t first_singleton = 0;
    std::size_t behind = 0;  ///< the singletons
    std::vector<std::uint32_t> order;
    std::uint64_t between = 1;      ///< coordinates of the levels between
    std::uint64_t coordinates = 1;  ///< of the singletons
  };

  SlotLevels slot_levels(const PlacedSlots& slots) const {
    SlotLevels levels{.slot = slots.level, .first_singleton = slots.first, .behind = slots.behind, .order = {}};
    for (std::uint32_t l = 0; l < order(); ++l) {
      if (l != levels.slot) levels.order.push_back(l);
      if (l > levels.slot && l < levels.behind) {
        std::uint64_t& product = l < levels.first_singleton ? levels.between : levels.coordinates;
        product = saturating_product(product, levels_.extents[l]);
      }
    }
    return levels;
  }

  /// The positions of the levels above the slots, with or without entries.
  Expected<Coordinates> parents(const SortedEntries& sorted, std::size_t slot) const {
    SortedEntries above;
    above.count = sorted.count;
    above.scalar = sorted.scalar;
    above.values = sorted.values;
    above.lengths = lengths();
    above.layout = &layout_;
    Format format;
    format.scalar = sorted.scalar;
    std::vector<std::uint64_t> extents;
    for (std::uint32_t l = 0; l < slot; ++l) {
      above.extents.push_back(levels_.extents[l]);
      above.crd.push_back(sorted.crd[l]);
      format.levels.push_back({.kind = format_.levels[l].kind});
      format.mode_order.push_back(l);
    }
    auto tensor = assemble(std::move(above), without_gaps(std::move(format)), placement_extents(slot), resources_, name_);
    if (!tensor) return std::unexpected(tensor.error());
    return entries(*tensor, false, resources_);
  }
  std::vector<std::uint64_t> placement_extents(std::size_t count) const {
    return {levels_.extents.begin(), levels_.extents.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  Expected<void> number_slots(const PlacedSlots& slots) {
    const SlotLevels levels = slot_levels(slots);
    auto sorted = sorted_by(levels_, levels.order, {}, resources_, name_);
    if (!sorted) return std::unexpected(sorted.error());
    Coordinates above;
    above.count = 1;
    if (levels.slot > 0) {
      auto listed = parents(*sorted, levels.slot);
      if (!listed) return std::unexpected(listed.error());
      above = std::move(*listed);
    }
    return SlotNumbers(*this, levels, *sorted, above).run();
  }

  class SlotNumbers {
   public:
    SlotNumbers(LayoutBuild& build, const SlotLevels& levels, const SortedEntries& sorted, const Coordinates& above)
        : build_(build), levels_(levels), sorted_(sorted), above_(above) {
      for (std::size_t c = 0; c < sorted.crd.size(); ++c) columns_.emplace_back(sorted.crd[c], coordinate_bits(sorted.extents[c]));
      for (std::size_t c = 0; c < above.crd.size(); ++c) above_columns_.push_back(read(above, c));
      for (std::size_t l = levels.slot + 1; l < levels.first_singleton; ++l)
        has_bounds_ = has_bounds_ || build.placement_.levels()[l].varies();
      bool bounded = false;
      for (std::size_t l = levels.behind; l < build.order(); ++l) {
        bounded = bounded || build.placement_.levels()[l].varies();
        needs_room_ = needs_room_ || (bounded && has_coordinates(build.layout_.levels[l].kind));
      }
    }

    Expected<void> run() {
      const PlacedLevel& placed = build_.placement_.levels()[levels_.slot];
      const bool fixed = placed.narrowed;
      if (above_.count > 0 && levels_.between == saturated)  // groups have numbers: a place for each is in no memory
        if (auto refused = build_.allocate(saturated, 1); !refused) return std::unexpected(refused.error());
      if (auto done = count_groups(fixed ? placed.extent : saturated); !done) return done;
      if (std::ranges::find(build_.extents_, std::uint64_t{0}) != build_.extents_.end())
        widest_ = 0;
      else if (fixed)
        widest_ = placed.extent;
      if (above_.count > 0 && widest_ > levels_.coordinates && levels_.between > 0)
        return build_.wrong(fmt::format(
            "layout {} of {}: level {} has {} slots, but there are only {} coordinates to stand in them; {} fit", build_.layout_.text(),
            build_.name_, build_.layout_.level_text(levels_.slot), widest_, levels_.coordinates, levels_.coordinates));
      return fill();
    }

   private:
    bool has_lengths_of_parents() const { return has_lengths(build_.layout_.levels[levels_.slot].kind); }

    /// Whether an entry belongs to a position above.
    bool is_below(std::uint64_t entry, std::uint64_t parent) const {
      for (std::size_t c = 0; c < above_columns_.size(); ++c)
        if (columns_[c][entry] != above_columns_[c][parent]) return false;
      return true;
    }
    /// Whether an entry is the first in its slot: one before it has the same coordinates above and the same singletons only where there are
    /// levels below.
    bool begins_slot(std::uint64_t entry) const {
      if (entry == 0 || levels_.behind == build_.order()) return true;
      for (std::size_t c = levels_.behind - 1; c-- > 0;)
        if (columns_[c][entry] != columns_[c][entry - 1]) return true;
      return false;
    }
    /// Which of the groups below its parent an entry is in.
    std::uint64_t group(std::uint64_t entry) const {
      std::uint64_t number = 0;
      for (std::size_t l = levels_.slot + 1; l < levels_.first_singleton; ++l)
        number = number * build_.levels_.extents[l] + columns_[l - 1][entry];
      return number;
    }

    /// Slots of every parent, and in the widest group.
    Expected<void> count_groups(std::uint64_t most) {
      auto lengths = build_.allocate(above_.count, sizeof(std::uint64_t));
      if (!lengths) return std::unexpected(lengths.error());
      lengths_ = std::move(*lengths);
      std::uint64_t entry = 0;
      for (std::uint64_t parent = 0; parent < above_.count; ++parent) {
        std::uint64_t in_group = 0;
        for (std::uint64_t before = saturated; entry < sorted_.count && is_below(entry, parent); ++entry) {
          if (!begins_slot(entry)) continue;
          ++taken_;
          const std::uint64_t now = group(entry);
          in_group = now == before ? in_group + 1 : 1;
          before = now;
          if (in_group > most) return surplus(entry, most);
          std::uint64_t& length = lengths_.as<std::uint64_t>()[parent];
          length = std::max(length, in_group);
        }
        widest_ = std::max(widest_, lengths_.as<std::uint64_t>()[parent]);
      }
      return {};
    }

    std::unexpected<Error> surplus(std::uint64_t entry, std::uint64_t most) const {
      std::vector<std::uint64_t> levels(build_.order(), 0);
      for (std::size_t c = 0; c < levels_.order.size(); ++c) levels[levels_.order[c]] = columns_[c][entry];
      std::vector<std::uint64_t> coordinates(build_.extents_.size());
      build_.placement_.coordinates(levels, coordinates);
      return build_.wrong(fmt::format("{} of {} has no place in the layout {}: level {} has {} {}, and {} stored before it",
                                      coordinates_text(coordinates), build_.name_, build_.layout_.text(),
                                      build_.layout_.level_text(levels_.slot), most, most == 1 ? "slot" : "slots",
                                      most == 1 ? "one is" : fmt::format("{} are", most)));
    }

    Expected<void> fill() {
      std::uint64_t total = 0;
      for (std::uint64_t parent = 0; parent < above_.count; ++parent) {
        std::uint64_t& length = lengths_.as<std::uint64_t>()[parent];
        if (!has_lengths_of_parents()) length = widest_;
        total = saturating_sum(total, saturating_product(length, length == 0 ? 0 : groups_below(parent)));
      }
      const std::uint64_t pads = total - taken_;
      total = saturating_sum(sorted_.count, pads);
      made_.count = total;
      made_.scalar = sorted_.scalar;
      made_.extents = build_.levels_.extents;
      made_.extents[levels_.slot] = widest_;
      made_.crd.resize(build_.order());
      for (std::size_t l = 0; l < build_.order(); ++l)
        if (auto done = build_.add_column(made_, l); !done) return done;
      auto values = build_.allocate(total, scalar_bytes(made_.scalar));
      if (!values) return std::unexpected(values.error());
      made_.values = std::move(*values);
      for (std::size_t l = 0; l < build_.order(); ++l) to_.push_back(build_.column(made_, l));
      std::uint64_t entry = 0;
      std::uint64_t next = 0;
      for (std::uint64_t parent = 0; parent < above_.count; ++parent) {
        const std::uint64_t length = lengths_.as<std::uint64_t>()[parent];
        if (length == 0) continue;
        const std::uint64_t first_of_parent = next;
        for (std::uint64_t number = 0; number < levels_.between; ++number) {
          if (has_bounds_ && !has_room(parent, number)) continue;
          const std::uint64_t first = entry;
          while (entry < sorted_.count && is_below(entry, parent) && group(entry) == number) ++entry;
          if (!needs_room_ && first == entry && next > first_of_parent && !exists(parent, number)) {
            next = repeat_group(parent, number, length, next);
            continue;
          }
          const auto filled = fill_group(parent, number, first, entry, length, next);
          if (!filled) return std::unexpected(filled.error());
          next = *filled;
        }
      }
      build_.added_ = build_.added_ || pads > 0;
      build_.levels_ = std::move(made_);
      return {};
    }

    /// Coordinates of the singletons as one number; saturated where those of several levels are beyond 64 bits.
    std::uint64_t singletons(std::uint64_t entry) const {
      std::uint64_t number = 0;
      for (std::size_t l = levels_.first_singleton; l < levels_.behind; ++l)
        number = saturating_sum(saturating_product(number, build_.levels_.extents[l]), columns_[l - 1][entry]);
      return number;
    }

    /// The coordinates of a group on its levels; those of its singletons and of the levels below are 0.
    std::vector<std::uint64_t> levels_of(std::uint64_t parent, std::uint64_t number) const {
      std::vector<std::uint64_t> levels(build_.order(), 0);
      for (std::size_t l = 0; l < above_columns_.size(); ++l) levels[l] = above_columns_[l][parent];
      for (std::size_t l = levels_.first_singleton; l-- > levels_.slot + 1; number /= build_.levels_.extents[l])
        levels[l] = number % build_.levels_.extents[l];
      return levels;
    }

    /// Whether bounds of the levels between leave room for a group: of (i:d, *:d, j:d(..i+1), k:q) for those of j to i.
    bool has_room(std::uint64_t parent, std::uint64_t number) const {
      const std::vector<std::uint64_t> levels = levels_of(parent, number);
      std::vector<std::int64_t> values(build_.order());
      for (std::size_t l = 0; l < levels_.first_singleton; ++l) {
        const ValueRange here = build_.placement_.levels()[l].at(values);
        values[l] = here.least + static_cast<std::int64_t>(levels[l]);
        if (l > levels_.slot && values[l] > here.most) return false;
      }
      return true;
    }
    /// Whether the levels below leave room for an unused slot with these singletons, at their first coordinates: of (*:d, i/2:q, j:d(i..3),
    /// k:s) none has the i/2 of rows from 3 on. Without a level that stores coordinates nothing asks: fibers are empty then.
    bool has_room_below(std::uint64_t parent, std::uint64_t number, std::uint64_t singletons) const {
      std::vector<std::uint64_t> levels = levels_of(parent, number);
      for (std::size_t l = levels_.behind; l-- > levels_.first_singleton; singletons /= build_.levels_.extents[l])
        levels[l] = singletons % build_.levels_.extents[l];
      std::vector<std::int64_t> values(build_.order());
      for (std::size_t l = 0; l < build_.order(); ++l) {
        const ValueRange here = build_.placement_.levels()[l].at(values);
        if (here.most < here.least && !build_.placement_.is_slot(l)) return false;
        values[l] = here.least + static_cast<std::int64_t>(levels[l]);
      }
      return true;
    }
    std::unexpected<Error> no_room(std::uint64_t parent, std::uint64_t number) const {
      std::vector<std::uint64_t> coordinates(build_.extents_.size());
      build_.placement_.coordinates(levels_of(parent, number), coordinates);
      return build_.wrong(fmt::format("layout {} of {}: bounds leave no room for what level {} has in an unused slot at {}",
                                      build_.layout_.text(), build_.name_, build_.layout_.level_text(levels_.slot),
                                      coordinates_text(coordinates)));
    }
    std::uint64_t groups_below(std::uint64_t parent) const {
      if (!has_bounds_) return levels_.between;
      std::uint64_t groups = 0;
      for (std::uint64_t number = 0; number < levels_.between; ++number) groups += has_room(parent, number);
      return groups;
    }

    /// Whether modes have coordinates there: slices of 8 of 10 rows end with 6 that none has.
    bool exists(std::uint64_t parent, std::uint64_t number) const {
      std::vector<std::uint64_t> coordinates(build_.extents_.size());
      return build_.placement_.coordinates(levels_of(parent, number), coordinates);
    }

    /// Zeros at the coordinates of the group before: a loop over the group meets no others than there.
    std::uint64_t repeat_group(std::uint64_t parent, std::uint64_t number, std::uint64_t length, std::uint64_t next) {
      std::uint64_t before = group_begin_;
      for (std::uint64_t slot = 0; slot < length; ++slot, ++next) {
        put_slot(next, parent, number, slot);
        for (std::size_t l = levels_.first_singleton; l < levels_.behind; ++l) to_[l].put(next, column_at(l, before));
        while (before < next && column_at(levels_.slot, before) == slot) ++before;
      }
      return next;
    }

    /// Where an entry stands above its singletons.
    void put_slot(std::uint64_t place, std::uint64_t parent, std::uint64_t number, std::uint64_t slot) const {
      for (std::size_t c = 0; c < above_columns_.size(); ++c) to_[c].put(place, above_columns_[c][parent]);
      to_[levels_.slot].put(place, slot);
      put(place, number, levels_.slot + 1, levels_.first_singleton);
    }

    std::uint64_t column_at(std::size_t l, std::uint64_t place) const {
      return Indices(made_.crd[l], coordinate_bits(made_.extents[l]))[place];
    }

    /// The entries, and zeros at the least coordinates that these leave, in the order of the singletons; those at the first coordinates of
    /// the levels below. Returns the place behind them.
    Expected<std::uint64_t> fill_group(std::uint64_t parent, std::uint64_t number, std::uint64_t entry, std::uint64_t end,
                                       std::uint64_t length, std::uint64_t next) {
      std::uint64_t pads = length;
      for (std::uint64_t each = entry; each < end; ++each) pads -= begins_slot(each);
      std::uint64_t unused = 0;
      group_begin_ = next;
      for (std::uint64_t slot = 0; slot < length; ++slot) {
        const std::uint64_t here = entry < end ? singletons(entry) : saturated;
        while (needs_room_ && pads > 0 && unused < std::min(here, levels_.coordinates) && !has_room_below(parent, number, unused)) ++unused;
        if (pads > 0 && here == saturated && unused >= levels_.coordinates) return no_room(parent, number);
        const bool is_pad = pads > 0 && here != unused;
        pads -= is_pad;
        if (is_pad) {
          put_slot(next, parent, number, slot);
          put(next++, unused++, levels_.first_singleton, levels_.behind);
          continue;
        }
        if (here == unused) ++unused;
        do {
          put_slot(next, parent, number, slot);
          for (std::size_t l = levels_.first_singleton; l < build_.order(); ++l) to_[l].put(next, columns_[l - 1][entry]);
          with_element(made_.scalar, [&]<class T>(T) { made_.values.as<T>()[next] = sorted_.values.as<const T>()[entry]; });
          ++entry;
          ++next;
        } while (entry < end && !begins_slot(entry));
      }
      return next;
    }

    /// A number as the coordinates of the levels from `begin` to `end`.
    void put(std::uint64_t place, std::uint64_t number, std::size_t begin, std::size_t end) const {
      for (std::size_t l = end; l-- > begin;) {
        to_[l].put(place, number % build_.levels_.extents[l]);
        number /= build_.levels_.extents[l];
      }
    }

    LayoutBuild& build_;
    const SlotLevels& levels_;
    const SortedEntries& sorted_;
    const Coordinates& above_;
    std::vector<Indices> columns_;        ///< of the sorted entries, in the order of the numbering
    std::vector<Indices> above_columns_;  ///< of the positions above
    Buffer lengths_;
    std::uint64_t widest_ = 0;
    bool has_bounds_ = false;        ///< of the levels between slots and singletons
    bool needs_room_ = false;        ///< a level below bounds that stand below the slots stores coordinates
    std::uint64_t taken_ = 0;        ///< slots with entries
    std::uint64_t group_begin_ = 0;  ///< the place of the first entry of the last group that was filled
    Coordinates made_;
    std::vector<WrittenColumn> to_;
  };

  // Levels in another order than the ascending one.

  /// What is sorted in place of coordinates: counted from the end, or the number of the first entry that has them below the same
  /// position.
  Expected<void> rank(std::size_t l) {
    const bool descending = order_of(l) == LevelOrder::descending;
    const std::uint64_t extent = descending ? levels_.extents[l] : levels_.count;
    auto ranks = allocate(levels_.count, coordinate_bits(extent) / 8);
    if (!ranks) return std::unexpected(ranks.error());
    const WrittenColumn to(*ranks, coordinate_bits(extent));
    const Indices coordinates = read(levels_, l);
    if (descending) {
      for (std::uint64_t n = 0; n < levels_.count; ++n) to.put(n, extent - 1 - coordinates[n]);
    } else {
      const auto sorted = sorted_permutation(levels_, numbers_below(l + 1), {}, resources_);
      if (!sorted) return std::unexpected(sorted.error());
      const Indices entry_at(*sorted, coordinate_bits(levels_.count));
      std::uint64_t first = 0;
      for (std::uint64_t n = 0; n < levels_.count; ++n) {
        if (n == 0 || !same_keys(levels_, entry_at[n - 1], entry_at[n], l + 1)) first = entry_at[n];
        to.put(entry_at[n], first);
      }
    }
    ranked_.resize(order());
    ranked_[l] = std::exchange(levels_.crd[l], std::move(*ranks));
    levels_.extents[l] = extent;
    return {};
  }

  /// The coordinate that a level has, where ranks may stand in its place.
  std::uint64_t coordinate(std::size_t l, std::uint64_t stored) const {
    if (ranked_.empty() || order_of(l) == LevelOrder::ascending) return stored;
    const std::uint64_t extent = placement_.levels()[l].extent;
    if (order_of(l) == LevelOrder::descending) return extent - 1 - stored;
    return Indices(ranked_[l], coordinate_bits(extent))[stored];
  }

  // Assembly.

  std::vector<std::function<std::uint64_t(std::span<const std::uint64_t>)>> lengths() const {
    std::vector<std::function<std::uint64_t(std::span<const std::uint64_t>)>> rules(order());
    for (std::size_t l = 0; l < order(); ++l) {
      if (!placement_.levels()[l].varies()) continue;
      rules[l] = [this, l](std::span<const std::uint64_t> above) {
        std::vector<std::int64_t> values(order());
        for (std::size_t outer = 0; outer < l; ++outer)
          values[outer] = placement_.levels()[outer].at(values).least + static_cast<std::int64_t>(coordinate(outer, above[outer]));
        const ValueRange here = placement_.levels()[l].at(values);
        return here.most < here.least ? std::uint64_t{0} : static_cast<std::uint64_t>(here.most - here.least) + 1;
      };
    }
    return rules;
  }

  /// Of the only level that stores any.
  LevelOrder order_of_coordinates() const {
    const auto is_other = [](const LayoutLevel& level) { return order_of(level) != LevelOrder::ascending; };
    const auto other = std::ranges::find_if(layout_.levels, is_other);
    return other == layout_.levels.end() ? LevelOrder::ascending : other->order;
  }

  Expected<Tensor> assembled() {
    const Format stored = level_format(format_);
    std::vector<std::uint64_t> extents = levels_.extents;
    auto room = room_for_gaps(stored, extents, {.given_back = bytes_of(levels_), .layout = &layout_}, resources_, name_);
    if (!room) return std::unexpected(room.error());
    Format format = without_gaps(stored);
    auto sorted = sorted_by(std::move(levels_), format.mode_order, {}, resources_, name_);
    if (!sorted) return std::unexpected(sorted.error());
    sorted->lengths = lengths();
    sorted->layout = &layout_;
    for (const PlacedStarts& starts : placement_.starts())
      if (is_per_parent(layout_.levels[starts.level].kind)) sorted->starts.push_back(starts.level);
    std::uint64_t distinct = 0;
    auto tensor = assemble(std::move(*sorted), std::move(format), std::move(extents), resources_, name_, &distinct);
    if (!tensor) return tensor;
    if (auto done = unrank(*tensor); !done) return std::unexpected(done.error());
    return finished(std::move(*tensor), distinct);
  }

  /// From the tensor over level coordinates, of so many entries.
  Expected<Tensor> finished(Tensor levels, std::uint64_t entries) {
    const bool padded = added_ || (placement_.adds_places() && levels.nnz() != entries);
    Format format = without_gaps(level_format(format_));
    for (std::size_t l = 0; l < order(); ++l) format.levels[l].kind = format_.levels[l].kind;
    Expected<Tensor> tensor = std::move(levels);
    if (has_gaps(format)) tensor = relaid(*tensor, format, resources_, name_);
    if (!tensor) return tensor;
    return with_layout(*tensor, format_, std::move(extents_), padded, resources_, name_);
  }

  Expected<void> unrank(Tensor& tensor) const {
    if (ranked_.empty()) return {};
    TensorArrays arrays = tensor.arrays();
    for (std::size_t l = 0; l < ranked_.size(); ++l) {
      if (order_of(l) == LevelOrder::ascending) continue;
      arrays.extents[l] = placement_.levels()[l].extent;
      Level& level = arrays.format.levels[l];
      const Indices ranks(tensor.levels()[l].crd, level.crd_bits);
      level.crd_bits = std::max<std::uint8_t>(format_.levels[l].crd_bits, static_cast<std::uint8_t>(coordinate_bits(arrays.extents[l])));
      auto crd = allocate(ranks.size(), level.crd_bits / 8);
      if (!crd) return std::unexpected(crd.error());
      const WrittenColumn to(*crd, level.crd_bits);
      for (std::uint64_t p = 0; p < ranks.size(); ++p) to.put(p, coordinate(l, ranks[p]));
      arrays.levels[l].crd = std::move(*crd);
    }
    tensor = Tensor(std::move(arrays), Validity::known);
    return {};
  }

  Coordinates modes_;
  bool distinct_;  ///< whether no coordinates come twice
  const Format& format_;
  const Layout& layout_;
  Placement placement_;
  const Resources& resources_;
  std::string_view name_;
  std::vector<std::uint64_t> extents_;  ///< of the modes
  Coordinates levels_;
  bool added_ = false;          ///< pads
  std::vector<Buffer> ranked_;  ///< the coordinates of levels in another order, by entry
};

}  // namespace

Expected<Tensor> build_with_layout(Coordinates coordinates, bool distinct, const Format& format, const Resources& resources,
                                   std::string_view name) {
  auto placement = Placement::of(*format.layout, coordinates.extents, name);
  if (!placement) return std::unexpected(placement.error());
  return LayoutBuild(std::move(coordinates), distinct, format, std::move(*placement), resources, name).run();
}

}  // namespace weft
