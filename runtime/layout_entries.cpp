#include "runtime/layout_entries.h"

#include <algorithm>
#include <vector>

#include "runtime/level_tensor.h"
#include "runtime/placement.h"
#include "runtime/scalar_traits.h"
#include "runtime/selected.h"

namespace weft {
namespace {

constexpr std::string_view the_entries = "the entries of a tensor";

/// A byte for each entry: whether it is no zero that is left out.
Expected<Buffer> kept_values(const Coordinates& list, Zeros zeros, const Resources& resources) {
  auto keep = Buffer::allocate(list.count, resources.memory, the_entries);
  if (!keep) return keep;
  const auto kept = keep->as<std::uint8_t>();
  with_element(list.scalar, [&]<class T>(T) {
    const auto values = std::as_const(list.values).as<T>();
    for_parts(resources, Blocks(list.count, resources.threads), [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t n = begin; n < end; ++n) kept[n] = !is_left_out(values[n], zeros);
    });
  });
  if (auto goes_on = check_not_cancelled(resources, "listing entries"); !goes_on) return std::unexpected(goes_on.error());
  return keep;
}

/// Level coordinates to those of modes; keep[n] = 0 where there are none.
class Mapping {
 public:
  Mapping(const Placement& placement, const Coordinates& levels, Coordinates& modes, std::span<std::uint8_t> keep)
      : placement_(placement), levels_(levels), modes_(modes), keep_(keep) {
    const auto& stored = placement.layout().levels;
    std::vector<Affine> inverse;
    for (std::size_t variable = 0; variable < placement.ranges().size(); ++variable) inverse.push_back(placement.inverse(variable));
    for (std::uint32_t l = 0; l < stored.size(); ++l)
      if (stored[l].value && !(stored[l].value->substituted(inverse) == Affine::variable(l))) checked_.push_back(l);
  }

  void run(const Resources& resources) {
    std::vector<std::int64_t> first;
    for (const PlacedLevel& level : placement_.levels()) first.push_back(level.low ? 0 : level.range.least);
    for_tiles(levels_, first, Blocks(levels_.count, resources.threads), resources,
              [&](std::uint64_t begin, std::span<const std::span<const std::int64_t>> columns, std::uint64_t) {
                Tile(*this, begin, columns).map();
              });
  }

 private:
  struct Tile {
    Tile(Mapping& mapping, std::uint64_t first, std::span<const std::span<const std::int64_t>> columns)
        : map_(mapping), begin_(first), values_(columns.begin(), columns.end()), count_(columns.empty() ? 0 : columns.front().size()) {}

    void map() {
      own_.resize(values_.size());
      for (std::size_t l = 0; l < values_.size(); ++l)
        if (map_.placement_.levels()[l].varies()) add_bound(l);
      variables_.resize(map_.placement_.ranges().size(), std::vector<std::int64_t>(count_));
      for (std::size_t variable = 0; variable < variables_.size(); ++variable) {
        map_.placement_.inverse(variable).at(values_, variables_[variable]);
        if (variable < map_.modes_.extents.size()) store(variable);
      }
      check();
    }

    /// The values of a level that begins elsewhere in every fiber, and whether they are below its end.
    void add_bound(std::size_t l) {
      const PlacedLevel& level = map_.placement_.levels()[l];
      own_[l].assign(values_[l].begin(), values_[l].end());
      std::vector<std::int64_t> bound(count_);
      if (level.low) {
        level.low->at(values_, bound);
        for (std::size_t n = 0; n < count_; ++n) own_[l][n] += std::max(bound[n], level.range.least);
      }
      values_[l] = own_[l];
      if (!level.high) return;
      level.high->at(values_, bound);
      for (std::size_t n = 0; n < count_; ++n)
        if (own_[l][n] >= bound[n]) map_.keep_[begin_ + n] = 0;
    }

    void store(std::size_t mode) {
      const std::uint64_t extent = map_.modes_.extents[mode];
      with_width(coordinate_bits(extent), [&]<class T>(T) {
        const auto to = map_.modes_.crd[mode].template as<T>();
        for (std::size_t n = 0; n < count_; ++n) {
          const auto coordinate = static_cast<std::uint64_t>(variables_[mode][n]);  // those below 0 are beyond every extent
          if (coordinate >= extent) map_.keep_[begin_ + n] = 0;
          to[begin_ + n] = static_cast<T>(coordinate);
        }
      });
    }

    /// Values that no coordinates have: i%4 of 4*c0+c2 is not c2 where that is 4. Those of i and j-i follow.
    void check() {
      if (map_.checked_.empty()) return;
      const std::vector<std::span<const std::int64_t>> variables(variables_.begin(), variables_.end());
      std::vector<std::int64_t> value(count_);
      for (const std::size_t l : map_.checked_) {
        map_.placement_.layout().levels[l].value->at(variables, value);
        for (std::size_t n = 0; n < count_; ++n)
          if (value[n] != values_[l][n]) map_.keep_[begin_ + n] = 0;
      }
    }

    Mapping& map_;
    std::uint64_t begin_;
    std::vector<std::span<const std::int64_t>> values_;
    std::size_t count_;
    std::vector<std::vector<std::int64_t>> own_;
    std::vector<std::vector<std::int64_t>> variables_;
  };

  const Placement& placement_;
  const Coordinates& levels_;
  Coordinates& modes_;
  std::span<std::uint8_t> keep_;
  std::vector<std::size_t> checked_;  ///< levels whose values do not follow from the coordinates found
};

}  // namespace

Expected<StoredPlaces> stored_places(const Tensor& tensor, const Placement& placement, Zeros zeros, const Resources& resources) {
  auto stored = level_tensor(tensor, resources, the_entries);
  if (!stored) return std::unexpected(stored.error());
  auto levels = entries(*stored, false, resources);
  if (!levels) return std::unexpected(levels.error());
  Buffer keep;
  if (zeros != Zeros::kept) {
    auto kept = kept_values(*levels, zeros, resources);
    if (!kept) return std::unexpected(kept.error());
    keep = std::move(*kept);
    if (static_cast<std::uint64_t>(std::ranges::count(keep.as<std::uint8_t>(), std::uint8_t{1})) < levels->count / 4 * 3) {
      levels = selected(std::move(*levels), keep, resources, the_entries);  // before anything is computed: blocks may be mostly zeros
      if (!levels) return std::unexpected(levels.error());
      keep = {};
    }
  }
  StoredPlaces places;
  places.levels = std::move(*levels);
  places.modes.extents = tensor.extents();
  places.modes.scalar = places.levels.scalar;
  places.modes.count = places.levels.count;
  places.modes.values = places.levels.values;
  for (const std::uint64_t extent : tensor.extents()) {
    auto crd = Buffer::allocate(places.levels.count * (coordinate_bits(extent) / 8), resources.memory, the_entries);
    if (!crd) return std::unexpected(crd.error());
    places.modes.crd.push_back(std::move(*crd));
  }
  if (keep.size_bytes() == 0) {
    auto all = Buffer::allocate(places.levels.count, resources.memory, the_entries);
    if (!all) return std::unexpected(all.error());
    std::ranges::fill(all->as<std::uint8_t>(), std::uint8_t{1});
    keep = std::move(*all);
  }
  Mapping(placement, places.levels, places.modes, keep.as<std::uint8_t>()).run(resources);
  if (auto goes_on = check_not_cancelled(resources, "listing entries"); !goes_on) return std::unexpected(goes_on.error());
  places.keep = std::move(keep);
  return places;
}

Expected<Coordinates> entries_with_layout(const Tensor& tensor, Zeros zeros, const Resources& resources) {
  const auto placement = Placement::of(*tensor.format().layout, tensor.extents(), "the tensor");
  if (!placement) return std::unexpected(placement.error());
  auto places = stored_places(tensor, *placement, zeros, resources);
  if (!places) return std::unexpected(places.error());
  return selected(std::move(places->modes), places->keep, resources, the_entries);
}

}  // namespace weft
