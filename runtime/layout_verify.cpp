// The invariants of a tensor with a layout.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "runtime/extents.h"
#include "runtime/layout_entries.h"
#include "runtime/level_rules.h"
#include "runtime/level_tensor.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/scalar_traits.h"
#include "runtime/selected.h"
#include "runtime/sort.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

class LayoutVerification {
 public:
  LayoutVerification(const Tensor& tensor, const Placement& placement, const Resources& resources, std::string_view name)
      : tensor_(tensor), layout_(*tensor.format().layout), placement_(placement), resources_(resources), name_(name) {}

  Expected<void> run() {
    if (auto done = shape(); !done) return done;
    auto levels = level_tensor(tensor_, resources_, name_);
    if (!levels) return std::unexpected(levels.error());
    levels_ = std::move(*levels);
    if (auto done = verify_levels(levels_, level_rules(layout_), resources_, name_); !done) return done;
    for (std::size_t l = 0; l < order(); ++l)
      if (placement_.levels()[l].varies())
        if (auto done = lengths(l); !done) return done;
    if (lists_coordinates()) return once();
    auto places = stored_places(tensor_, placement_, Zeros::kept, resources_);
    if (!places) return std::unexpected(places.error());
    places_ = std::move(*places);
    if (auto done = added_zeros(); !done) return done;
    for (const PlacedSlots& each : placement_.slots())
      if (auto done = slots(each); !done) return done;
    return placement_.depends_on_data() ? once_in_places() : Expected<void>();
  }

 private:
  std::size_t order() const { return layout_.levels.size(); }

  template <class... Arguments>
  std::unexpected<Error> refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    return fail(ErrorKind::input, ErrorCode::invalid_tensor, name_,
                fmt::format("{}: {}", name_, fmt::format(text, std::forward<Arguments>(arguments)...)));
  }

  Expected<void> shape() const {
    const std::vector<std::uint64_t>& extents = tensor_.level_extents();
    if (tensor_.levels().size() != order() || extents.size() != order() || tensor_.format().levels.size() != order())
      return refuse("{} level arrays and {} level extents for a layout of {} levels", tensor_.levels().size(), extents.size(), order());
    for (std::size_t l = 0; l < order(); ++l) {
      const std::uint64_t extent = placement_.levels()[l].extent;
      if (extents[l] != extent && (!placement_.is_slot(l) || placement_.levels()[l].narrowed))
        return refuse("level {} ({}) has the extent {} instead of {}", l, layout_.level_text(l), extents[l], extent);
      const unsigned bits = tensor_.format().levels[l].crd_bits;
      const unsigned said = layout_.levels[l].bits;
      if (said == 8 || said == 16 ? bits != said : bits != 32 && bits != 64)
        return refuse("level {} ({}) has coordinates of {} bits", l, layout_.level_text(l), bits);
    }
    return {};
  }

  /// The positions of the first levels, by their coordinates.
  Expected<Coordinates> positions_of(std::size_t count) const {
    Coordinates root;
    root.count = 1;
    if (count == 0) return root;
    TensorArrays cut = levels_.arrays();
    cut.format.levels.resize(count);
    cut.format.mode_order.resize(count);
    cut.extents.resize(count);
    cut.levels.resize(count);
    auto values =
        Buffer::allocate(saturating_product(levels_.positions(count - 1), scalar_bytes(cut.format.scalar)), resources_.memory, name_);
    if (!values) return std::unexpected(values.error());
    cut.values = std::move(*values);
    return entries(made(std::move(cut)), false, resources_);
  }

  /// Lengths as the bounds say.
  Expected<void> lengths(std::size_t l) const {
    const Indices pos(levels_.levels()[l].pos, levels_.format().levels[l].pos_bits);
    auto listed = positions_of(l);
    if (!listed) return std::unexpected(listed.error());
    const Coordinates above = std::move(*listed);
    std::vector<Indices> columns;
    for (std::size_t c = 0; c < l; ++c) columns.emplace_back(above.crd[c], coordinate_bits(above.extents[c]));
    std::vector<std::int64_t> values(order());
    for (std::uint64_t p = 0; p < above.count; ++p) {
      for (std::size_t c = 0; c < l; ++c) values[c] = placement_.levels()[c].at(values).least + static_cast<std::int64_t>(columns[c][p]);
      const ValueRange here = placement_.levels()[l].at(values);
      const std::uint64_t length = here.most < here.least ? 0 : static_cast<std::uint64_t>(here.most - here.least) + 1;
      if (pos[p + 1] - pos[p] != length)
        return refuse("level {} ({}): the fiber of position {} has {} values instead of {}", l, layout_.level_text(l), p,
                      pos[p + 1] - pos[p], length);
    }
    return {};
  }

  Expected<void> added_zeros() const {
    const auto keep = places_.keep.as<const std::uint8_t>();
    for (std::uint64_t n = 0; n < keep.size(); ++n) {
      if (keep[n] != 0 || value_at(places_.levels.values, places_.levels.scalar, n) == 0) continue;
      std::string coordinates;
      for (std::size_t l = 0; l < order(); ++l) coordinates += fmt::format("{}{}", l ? "," : "", column(l)[n]);
      return refuse("level {}: position {}, at the level coordinates ({}), is no coordinate of the tensor, but its value is not 0",
                    order() - 1, n, coordinates);
    }
    return {};
  }

  Indices column(std::size_t l) const { return {places_.levels.crd[l], coordinate_bits(places_.levels.extents[l])}; }
  Indices mode(std::size_t m) const { return {places_.modes.crd[m], coordinate_bits(places_.modes.extents[m])}; }

  /// The singletons of slots rise with these, or differ where they come in any order.
  Expected<void> slots(const PlacedSlots& slots) const {
    const bool is_last = slots.behind == order();
    if (slots.unordered && is_last) return {};  // once_in_places() sees it
    auto listed = is_last ? Expected<Coordinates>(places_.levels) : positions_of(slots.behind);
    if (!listed) return std::unexpected(listed.error());
    const Coordinates positions = std::move(*listed);
    std::vector<std::uint32_t> by;
    for (std::uint32_t l = 0; l < (slots.unordered ? slots.behind : slots.first); ++l)
      if (l != slots.level) by.push_back(l);
    const std::size_t alike = by.size();
    by.push_back(static_cast<std::uint32_t>(slots.level));
    const auto sorted = sorted_permutation(positions, by, {}, resources_);
    if (!sorted) return std::unexpected(sorted.error());
    const Indices entry(*sorted, coordinate_bits(positions.count));
    std::vector<Indices> columns;
    for (std::size_t l = 0; l < slots.behind; ++l) columns.emplace_back(positions.crd[l], coordinate_bits(positions.extents[l]));
    for (std::uint64_t n = 1; n < positions.count; ++n) {
      const auto same = [&](std::uint32_t l) { return columns[l][entry[n - 1]] == columns[l][entry[n]]; };
      if (!std::all_of(by.begin(), by.begin() + static_cast<std::ptrdiff_t>(alike), same)) continue;
      std::size_t l = slots.first;
      while (l + 1 < slots.behind && columns[l][entry[n - 1]] == columns[l][entry[n]]) ++l;
      if (!slots.unordered && columns[l][entry[n - 1]] < columns[l][entry[n]]) continue;
      if (slots.unordered)
        return refuse("level {} ({}): the coordinate {} stands in two slots, at positions {} and {}", l, layout_.level_text(l),
                      columns[l][entry[n]], entry[n - 1], entry[n]);
      return refuse("level {} ({}): the coordinate {} at position {} is not above that of the slot before, {} at position {}", l,
                    layout_.level_text(l), columns[l][entry[n]], entry[n], columns[l][entry[n - 1]], entry[n - 1]);
    }
    return {};
  }

  /// Whether arrays of the levels are coordinates of the modes, one behind the other and in any order: nothing has to be worked out.
  bool lists_coordinates() const {
    if (placement_.slots().size() != 1 || !placement_.slots().front().unordered || placement_.slots().front().level != 0) return false;
    for (std::size_t l = 1; l < order(); ++l) {
      const PlacedLevel& placed = placement_.levels()[l];
      const bool is_mode = layout_.levels[l].value->as_variable() && is_per_parent(layout_.levels[l].kind) && !placed.narrowed;
      if (!is_mode || levels_.format().levels[l].crd_bits != coordinate_bits(placed.extent)) return false;
    }
    return order() == layout_.modes.size() + 1;
  }
  Expected<void> once() const {
    Coordinates list{.extents = {}, .crd = {}, .values = {}, .scalar = Scalar::f64, .count = levels_.nnz()};
    for (std::uint32_t mode = 0; mode < layout_.modes.size(); ++mode) {
      const auto tells_mode = [&](const LayoutLevel& each) { return each.value && each.value->uses(mode); };
      const auto level = std::ranges::find_if(layout_.levels, tells_mode);
      list.extents.push_back(placement_.extents()[mode]);
      list.crd.push_back(levels_.levels()[static_cast<std::size_t>(level - layout_.levels.begin())].crd);
    }
    const auto twice = repeated(list);
    if (!twice) return std::unexpected(twice.error());
    return twice->empty() ? Expected<void>() : repeats(list, *twice, *twice);
  }

  /// No coordinates have two positions: blocks do not overlap.
  Expected<void> once_in_places() const {
    auto list = selected(places_.modes, places_.keep, resources_, name_);
    if (!list) return std::unexpected(list.error());
    const auto twice = repeated(*list);
    if (!twice) return std::unexpected(twice.error());
    if (twice->empty()) return {};
    const std::vector<std::uint64_t> coordinates = coordinates_of(*list, twice->front());
    return repeats(*list, *twice, {place_of(coordinates, 0), place_of(coordinates, 1)});
  }

  /// Two entries with the same coordinates, if there are such.
  Expected<std::vector<std::uint64_t>> repeated(const Coordinates& list) const {
    std::vector<std::uint32_t> modes(list.extents.size());
    std::iota(modes.begin(), modes.end(), 0U);
    const auto sorted = sorted_permutation(list, modes, {}, resources_);
    if (!sorted) return std::unexpected(sorted.error());
    const Indices entry(*sorted, coordinate_bits(list.count));
    for (std::uint64_t n = 1; n < list.count; ++n) {
      const bool same = std::ranges::all_of(modes, [&](std::uint32_t m) {
        const Indices crd(list.crd[m], coordinate_bits(list.extents[m]));
        return crd[entry[n - 1]] == crd[entry[n]];
      });
      if (same) return std::vector{std::min(entry[n - 1], entry[n]), std::max(entry[n - 1], entry[n])};
    }
    return std::vector<std::uint64_t>();
  }

  static std::vector<std::uint64_t> coordinates_of(const Coordinates& list, std::uint64_t entry) {
    std::vector<std::uint64_t> coordinates;
    for (std::size_t m = 0; m < list.extents.size(); ++m)
      coordinates.push_back(Indices(list.crd[m], coordinate_bits(list.extents[m]))[entry]);
    return coordinates;
  }

  std::unexpected<Error> repeats(const Coordinates& list, const std::vector<std::uint64_t>& entries,
                                 const std::vector<std::uint64_t>& positions) const {
    const std::size_t level = placement_.starts().empty() ? placement_.slots().front().level : placement_.starts().front().level;
    return refuse("level {} ({}): the coordinates {} stand at positions {} and {}", level, layout_.level_text(level),
                  coordinates_text(coordinates_of(list, entries.front())), positions[0], positions[1]);
  }

  /// The number-th position of the last level with these coordinates.
  std::uint64_t place_of(std::span<const std::uint64_t> coordinates, std::uint64_t number) const {
    const auto keep = places_.keep.as<const std::uint8_t>();
    for (std::uint64_t n = 0; n < keep.size(); ++n) {
      bool here = keep[n] != 0;
      for (std::size_t m = 0; m < coordinates.size() && here; ++m) here = mode(m)[n] == coordinates[m];
      if (here && number-- == 0) return n;
    }
    return saturated;
  }

  const Tensor& tensor_;
  const Layout& layout_;
  const Placement& placement_;
  const Resources& resources_;
  std::string_view name_;
  Tensor levels_;
  StoredPlaces places_;
};

}  // namespace

Expected<void> verify_layout(const Tensor& tensor, const Resources& resources, std::string_view name) {
  const auto placement = Placement::of(*tensor.format().layout, tensor.extents(), name);
  if (!placement) return std::unexpected(placement.error());
  return LayoutVerification(tensor, *placement, resources, name).run();
}

}  // namespace weft
