#include "runtime/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/elimination.h"
#include "runtime/extents.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

constexpr std::uint64_t most_searched = 20000;  // coordinates, for two that share their levels

/// Values from least to most; 2^64 - 1 where there are more.
std::uint64_t values_in(const ValueRange& range) {
  if (range.most < range.least) return 0;
  const std::uint64_t distance = static_cast<std::uint64_t>(range.most) - static_cast<std::uint64_t>(range.least);
  return distance >= largest_extent ? saturated : distance + 1;
}

ValueRange common(ValueRange a, const ValueRange& b) { return {std::max(a.least, b.least), std::min(a.most, b.most)}; }

bool is_number(const std::shared_ptr<const Affine>& bound) { return bound && bound->is_number(); }

/// The corner of the extents that is searched: as many coordinates of every mode, few enough in all.
std::vector<std::uint64_t> corner_of(std::span<const std::uint64_t> extents) {
  std::vector<std::uint64_t> corner(extents.size(), 1);
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t mode = 0; mode < corner.size(); ++mode) {
      std::uint64_t size = 1;
      for (std::size_t other = 0; other < corner.size(); ++other) size = saturating_product(size, corner[other] + (other == mode ? 1 : 0));
      if (corner[mode] >= extents[mode] || size > most_searched) continue;
      ++corner[mode];
      grows = true;
    }
  }
  return corner;
}

/// The next coordinates of a box in lexicographic order; false behind the last.
bool next_in(std::span<const std::uint64_t> box, std::vector<std::int64_t>& coordinates) {
  for (std::size_t mode = box.size(); mode-- > 0;) {
    if (static_cast<std::uint64_t>(++coordinates[mode]) < box[mode]) return true;
    coordinates[mode] = 0;
  }
  return false;
}

std::string text_of(std::span<const std::int64_t> coordinates) { return fmt::format("({})", fmt::join(coordinates, ",")); }

}  // namespace

std::string coordinates_text(std::span<const std::uint64_t> coordinates) { return fmt::format("({})", fmt::join(coordinates, ",")); }

ValueRange PlacedLevel::at(std::span<const std::int64_t> levels) const {
  ValueRange here = range;
  if (low) here.least = std::max(here.least, low->at(levels));
  if (high) here.most = std::min(here.most, high->at(levels) - 1);
  return here;
}

Expected<Placement> Placement::of(const Layout& layout, std::span<const std::uint64_t> extents, std::string_view name) {
  if (layout.modes.size() != extents.size())
    return input_error(fmt::format("layout {} of {} has {} modes, but the tensor has order {}", layout.text(), name,
                                   layout.modes.size(), extents.size()));
  Placement placement;
  placement.layout_ = layout;
  placement.extents_.assign(extents.begin(), extents.end());
  placement.levels_.resize(layout.levels.size());
  placement.find_slots();
  placement.find_starts();
  if (auto done = placement.find_ranges(name); !done) return std::unexpected(done.error());
  if (auto done = placement.find_bounds(name); !done) return std::unexpected(done.error());
  if (auto done = placement.find_inverse(name); !done) return std::unexpected(done.error());
  return placement;
}

void Placement::find_slots() {
  const auto& levels = layout_.levels;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    if (!is_slot(l)) continue;
    PlacedSlots slots{.level = l, .first = l + 1};
    while (slots.first < levels.size() && is_dense(levels[slots.first].kind) && !is_slot(slots.first)) ++slots.first;
    slots.behind = slots.first;
    while (slots.behind < levels.size() && is_per_parent(levels[slots.behind].kind) && starts_no_block(slots.behind)) ++slots.behind;
    slots.unordered = slots.first < levels.size() && levels[slots.first].order == LevelOrder::unordered;
    slots_.push_back(slots);
  }
}

/// Whether a level is no free name.
bool Placement::starts_no_block(std::size_t level) const {
  const auto variable = layout_.levels[level].value ? layout_.levels[level].value->as_variable() : std::nullopt;
  return !variable || *variable < extents_.size();
}

void Placement::find_starts() {
  for (std::size_t n = 0; n < layout_.free.size(); ++n) {
    PlacedStarts starts{.name = static_cast<std::uint32_t>(extents_.size() + n)};
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const auto& value = layout_.levels[l].value;
      if (value && value->uses(starts.name)) (value->as_variable() ? starts.level : starts.counted) = l;
    }
    starts_.push_back(starts);
  }
  std::ranges::sort(starts_, {}, &PlacedStarts::level);
}

const PlacedSlots* Placement::slots_of_singleton(std::size_t level) const {
  const auto found = std::ranges::find_if(slots_, [&](const PlacedSlots& each) { return level >= each.first && level < each.behind; });
  return found == slots_.end() ? nullptr : &*found;
}

const PlacedStarts* Placement::starts_at(std::size_t level) const {
  const auto found = std::ranges::find(starts_, level, &PlacedStarts::level);
  return found == starts_.end() ? nullptr : &*found;
}

bool Placement::is_counted(std::size_t level) const {
  return std::ranges::find(starts_, level, &PlacedStarts::counted) != starts_.end();
}

/// The natural ranges within bounds that are numbers.
Expected<void> Placement::find_ranges(std::string_view name) {
  for (const std::uint64_t extent : extents_) ranges_.push_back({0, extent == 0 ? 0 : static_cast<std::int64_t>(extent) - 1});
  ranges_.resize(extents_.size() + layout_.free.size(), {0, 0});
  const auto beyond = [&](std::size_t l) {
    return input_error(fmt::format("layout {} of {}: the values of level {} are beyond 2^63 - 1 for the extents {}", layout_.text(), name,
                                   layout_.level_text(l), fmt::join(extents_, "x")));
  };
  for (const PlacedStarts& starts : starts_) {  // they lie where the level that counts from them has values
    const auto range = layout_.levels[starts.counted].value->plus(Affine::variable(starts.name)).range(ranges_);
    if (!range || values_in(*range) == saturated) return beyond(starts.counted);
    ranges_[starts.name] = *range;
  }
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const LayoutLevel& level = layout_.levels[l];
    PlacedLevel& placed = levels_[l];
    if (!level.value) {
      placed.range = {0, is_number(level.high) ? level.high->constant() - 1 : -1};
      placed.extent = values_in(placed.range);
      placed.narrowed = is_number(level.high);
      continue;
    }
    auto natural = level.value->range(ranges_);
    if (!natural || values_in(*natural) == saturated) return beyond(l);
    const auto starts = std::ranges::find(starts_, l, &PlacedStarts::counted);
    if (starts != starts_.end()) natural = ValueRange{0, ranges_[starts->name].most - ranges_[starts->name].least};
    placed.range = *natural;
    if (is_number(level.low)) placed.range.least = std::max(placed.range.least, level.low->constant());
    if (is_number(level.high)) placed.range.most = std::min(placed.range.most, level.high->constant() - 1);
    placed.narrowed = starts == starts_.end() && placed.range != *natural;
    placed.extent = values_in(placed.range);
  }
  return {};
}

/// With a caret below the bounds.
std::unexpected<Error> Placement::bounds_not_told(std::size_t level, std::string_view name) const {
  const std::string text = layout_.text();
  std::size_t place = fmt::format("({}) -> (", fmt::join(layout_.modes, ",")).size();
  for (std::size_t l = 0; l < level; ++l) place += layout_.level_text(l).size() + 2;
  place += layout_.value_text(level).size() + 2;  // a ':' and a letter
  return input_error(fmt::format("layout of {}: the levels above do not tell the bounds of level {}\n  {}\n  {:>{}}", name,
                                 layout_.level_text(level), text, '^', place + 1));
}

/// Bounds as expressions of the values of levels above.
Expected<void> Placement::find_bounds(std::string_view name) {
  Elimination above(ranges_);
  std::vector<ValueRange> values;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const LayoutLevel& level = layout_.levels[l];
    PlacedLevel& placed = levels_[l];
    for (const bool is_low : {true, false}) {
      const auto& bound = is_low ? level.low : level.high;
      if (!bound || bound->is_number()) continue;
      auto told = above.value_of(*bound);
      const auto range = told ? told->range(values) : std::nullopt;
      if (!range) return bounds_not_told(l, name);
      const ValueRange values_left = is_low ? ValueRange{range->least, placed.range.most} : ValueRange{placed.range.least, range->most - 1};
      placed.extent = std::min(placed.extent, values_in(common(placed.range, values_left)));
      placed.narrowed = placed.narrowed || (is_low ? range->most > placed.range.least : range->least <= placed.range.most);
      (is_low ? placed.low : placed.high) = std::move(*told);
    }
    if (placed.low && placed.high) {
      const auto length = placed.high->minus(*placed.low).range(values);
      if (length) placed.extent = std::min(placed.extent, static_cast<std::uint64_t>(std::max<std::int64_t>(length->most, 0)));
    }
    if (std::ranges::find(extents_, std::uint64_t{0}) != extents_.end()) placed.extent = 0;
    if (level.bits != 0 && level.bits < 64 && placed.extent > std::uint64_t{1} << level.bits)
      return input_error(fmt::format("layout {} of {}: level {} has {} coordinates, which {} bits do not hold", layout_.text(), name,
                                     layout_.level_text(l), placed.extent, level.bits));
    if (level.value) above.add(*level.value, Affine::variable(static_cast<std::uint32_t>(l)));
    values.push_back(placed.extent == 0 ? ValueRange{placed.range.least, placed.range.least} : placed.range);
  }
  return {};
}

/// Where the modes and free names of coordinates that have a place are: of some layouts only these are told apart. The first one alone
/// where there are none.
std::vector<ValueRange> Placement::ranges_of_places() const {
  constexpr int most_narrowings = 16;
  std::vector<ValueRange> ranges = ranges_;
  for (int round = 0; round < most_narrowings; ++round) {
    const std::vector<ValueRange> before = ranges;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const LayoutLevel& level = layout_.levels[l];
      if (!level.value || is_counted(l)) continue;
      ValueRange values = levels_[l].range;
      const auto low = levels_[l].low ? level.low->range(ranges) : std::nullopt;
      const auto high = levels_[l].high ? level.high->range(ranges) : std::nullopt;
      if (low) values.least = std::max(values.least, low->least);
      if (high) values.most = std::min(values.most, high->most - 1);
      if (values.most < values.least || !narrow(ranges, *level.value, values)) {
        std::fill_n(ranges.begin(), extents_.size(), ValueRange{0, 0});
        return ranges;
      }
    }
    if (ranges == before) break;
  }
  return ranges;
}

/// The variables as expressions of the levels; the first one of which there is none.
std::optional<std::uint32_t> Placement::solve(const std::vector<ValueRange>& ranges) {
  Elimination levels(ranges);
  inverse_.clear();
  for (std::size_t l = 0; l < levels_.size(); ++l)
    if (layout_.levels[l].value) levels.add(*layout_.levels[l].value, Affine::variable(static_cast<std::uint32_t>(l)));
  for (std::uint32_t variable = 0; variable < ranges.size(); ++variable) {
    auto inverse = levels.value_of(Affine::variable(variable));
    if (!inverse) return variable;
    inverse_.push_back(std::move(*inverse));
  }
  return std::nullopt;
}

Expected<void> Placement::find_inverse(std::string_view name) {
  if (solve(ranges_)) {
    inverse_within_bounds_ = true;
    if (const auto variable = solve(ranges_of_places())) return not_inverted(*variable, name);
  }
  std::vector<ValueRange> values;
  for (const PlacedLevel& level : levels_) values.push_back(level.range);
  for (const Affine& inverse : inverse_) {
    if (!inverse.range(values))
      return input_error(fmt::format("layout {} of {}: the levels of the extents {} lead beyond 2^63 - 1", layout_.text(), name,
                                     fmt::join(extents_, "x")));
  }
  return {};
}

bool Placement::within_bounds(std::span<const std::int64_t> coordinates) const {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const LayoutLevel& level = layout_.levels[l];
    if (!level.value) continue;
    const std::int64_t value = level.value->at(coordinates);
    if (level.low && value < level.low->at(coordinates)) return false;
    if (level.high && value >= level.high->at(coordinates)) return false;
  }
  return true;
}

/// Two coordinates that share their place, if the first few thousand have such; else the expressions that are in the way.
std::unexpected<Error> Placement::not_inverted(std::uint32_t variable, std::string_view name) const {
  const std::vector<std::uint64_t> corner = corner_of(extents_);
  std::vector<std::int64_t> coordinates(ranges_.size(), 0);
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> seen;
  const bool empty = std::ranges::find(extents_, std::uint64_t{0}) != extents_.end();
  for (bool more = !empty && starts_.empty(); more; more = next_in(corner, coordinates)) {
    if (!within_bounds(coordinates)) continue;
    std::vector<std::int64_t> values;
    for (const LayoutLevel& level : layout_.levels) values.push_back(level.value ? level.value->at(coordinates) : 0);
    const auto [place, fresh] = seen.try_emplace(std::move(values), coordinates);
    if (!fresh)
      return input_error(fmt::format("layout {} of {} does not tell coordinates apart: {} and {} share their levels", layout_.text(), name,
                                     text_of(place->second), text_of(coordinates)));
  }
  std::vector<std::string> names = layout_.modes;
  names.insert(names.end(), layout_.free.begin(), layout_.free.end());
  std::vector<std::string> values;
  std::string advice;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const auto& value = layout_.levels[l].value;
    if (!value || !value->uses(variable)) continue;
    values.push_back(layout_.value_text(l));
    for (const AffineTerm& term : value->terms())
      if (advice.empty() && !term.sum && term.variable == variable && term.divisor > 1)
        advice = fmt::format("; write {0}/{1} with {0}%{1}", names[variable], term.divisor);
  }
  return input_error(fmt::format("layout {} of {}: weft cannot invert ({}){}", layout_.text(), name, fmt::join(values, ", "), advice));
}

std::vector<std::uint64_t> Placement::level_extents() const {
  std::vector<std::uint64_t> extents;
  for (const PlacedLevel& level : levels_) extents.push_back(level.extent);
  return extents;
}

bool Placement::total() const {
  return std::ranges::none_of(levels_, [](const PlacedLevel& level) { return level.narrowed; });
}

bool Placement::adds_places() const {
  return std::ranges::any_of(layout_.levels, [](const LayoutLevel& level) { return is_dense(level.kind) || has_lengths(level.kind); });
}

bool Placement::place(std::span<const std::uint64_t> coordinates, std::span<std::uint64_t> levels) const {
  std::vector<std::int64_t> modes(coordinates.begin(), coordinates.end());
  std::vector<std::int64_t> values(levels_.size());
  for (std::size_t mode = 0; mode < coordinates.size(); ++mode)
    if (coordinates[mode] >= extents_[mode]) return false;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    values[l] = layout_.levels[l].value->at(modes);
    const ValueRange here = levels_[l].at(values);
    if (values[l] < here.least || values[l] > here.most) return false;
    levels[l] = static_cast<std::uint64_t>(values[l] - here.least);
  }
  return true;
}

bool Placement::coordinates(std::span<const std::uint64_t> levels, std::span<std::uint64_t> coordinates) const {
  std::vector<std::int64_t> values(levels_.size());
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const ValueRange here = levels_[l].at(values);
    values[l] = here.least + static_cast<std::int64_t>(levels[l]);
    if (!is_slot(l) && values[l] > here.most) return false;
  }
  std::vector<std::int64_t> variables;
  for (std::size_t variable = 0; variable < ranges_.size(); ++variable) {
    const std::int64_t value = inverse_[variable].at(values);
    const bool is_mode = variable < extents_.size();
    if (is_mode && (value < 0 || static_cast<std::uint64_t>(value) >= extents_[variable])) return false;
    if (is_mode) coordinates[variable] = static_cast<std::uint64_t>(value);
    variables.push_back(value);
  }
  for (std::size_t l = 0; l < levels_.size(); ++l)  // values that no coordinates have
    if (layout_.levels[l].value && layout_.levels[l].value->at(variables) != values[l]) return false;
  return true;
}

std::string Placement::inverse_text(std::size_t mode) const {
  // In level coordinates, so that c is what is stored.
  std::vector<std::string> names;
  std::vector<Affine> values;
  for (std::uint32_t l = 0; l < levels_.size(); ++l) {
    names.push_back(fmt::format("c{}", l));
    const PlacedLevel& level = levels_[l];
    const std::string first = level.low ? level.low->substituted(values).text(names) : "";
    if (level.low) names.back() = fmt::format("(c{}+max({},{}))", l, level.range.least, first);
    values.push_back(Affine::variable(l).plus(Affine::number(level.low ? 0 : level.range.least)));
  }
  const std::string& name = mode < layout_.modes.size() ? layout_.modes[mode] : layout_.free[mode - layout_.modes.size()];
  return fmt::format("{} = {}", name, inverse_[mode].substituted(values).text(names));
}

}  // namespace weft
