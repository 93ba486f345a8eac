// One element of a tensor, found level by level.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "runtime/affine.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/placement.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"
#include "weft/entries.h"

namespace weft {
namespace {

/// Positions of a level that are left: several only within a chain of a nonunique level and the singletons below it.
struct Positions {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// An array of coordinates, of 8 and 16 bits too, as layouts have them.
class StoredCoordinates {
 public:
  StoredCoordinates(const Buffer& buffer, unsigned bits) : data_(buffer.data()), bits_(bits) {}
  std::uint64_t operator[](std::uint64_t n) const {
    switch (bits_) {
      case 8: return static_cast<const std::uint8_t*>(data_)[n];
      case 16: return static_cast<const std::uint16_t*>(data_)[n];
      case 32: return static_cast<const std::uint32_t*>(data_)[n];
      default: return static_cast<const std::uint64_t*>(data_)[n];
    }
  }

 private:
  const void* data_;
  unsigned bits_;
};

/// First place in [begin, end) whose element is not below `wanted`; the elements ascend.
std::uint64_t first_not_below(const StoredCoordinates& elements, std::uint64_t begin, std::uint64_t end, std::uint64_t wanted) {
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (elements[middle] < wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

Positions equal(const StoredCoordinates& elements, Positions within, std::uint64_t wanted) {
  const std::uint64_t begin = first_not_below(elements, within.begin, within.end, wanted);
  return {begin, first_not_below(elements, begin, within.end, wanted + 1)};
}

Positions slot_of(const StoredCoordinates& slots, Positions within, std::uint64_t wanted, unsigned bits) {
  const std::uint64_t count = within.end - within.begin;
  const std::uint64_t first = first_slot(wanted, count);
  for (std::uint64_t probed = 0; probed < count; ++probed) {
    const std::uint64_t slot = within.begin + (first + probed) % count;
    if (slots[slot] == wanted) return {slot, slot + 1};
    if (slots[slot] == empty_slot(bits)) break;
  }
  return {};
}

/// The positions of a level below those above.
Positions children(const Tensor& tensor, std::size_t level, Positions above) {
  const Level& kind = tensor.format().levels[level];
  if (is_per_parent(kind.kind)) return above;
  if (is_dense(kind.kind)) {
    const std::uint64_t extent = tensor.extent_of_level(level);
    return {above.begin * extent, (above.begin + 1) * extent};
  }
  const Indices pos(tensor.levels()[level].pos, kind.pos_bits);
  return {pos[above.begin], pos[above.begin + 1]};
}

/// What a coordinate leaves of the positions of a level whose coordinates ascend.
Positions entered(const Tensor& tensor, std::size_t level, Positions above, std::uint64_t coordinate) {
  const Level& kind = tensor.format().levels[level];
  const LevelArrays& arrays = tensor.levels()[level];
  const std::uint64_t child = above.begin * tensor.extent_of_level(level) + coordinate;
  if (is_dense(kind.kind)) return {child, child + 1};
  if (has_bits(kind.kind)) {
    const std::uint64_t words = above.begin * bitmap_words(tensor.extent_of_level(level));
    const std::uint64_t word = arrays.crd.as<const std::uint64_t>()[words + coordinate / 64];
    return (word >> (coordinate % 64) & 1) != 0 ? Positions{child, child + 1} : Positions{};
  }
  const StoredCoordinates crd(arrays.crd, kind.crd_bits);
  const Positions fiber = children(tensor, level, above);
  if (has_lengths(kind.kind)) {
    const std::uint64_t place = fiber.begin + coordinate;
    return place < fiber.end ? Positions{place, place + 1} : Positions{};
  }
  return has_slots(kind.kind) ? slot_of(crd, fiber, coordinate, kind.crd_bits) : equal(crd, fiber, coordinate);
}

Expected<void> check_place(const Tensor& tensor, std::span<const std::uint64_t> coordinates) {
  if (coordinates.size() != tensor.order()) {
    return fail(ErrorKind::input, ErrorCode::order, {},
                fmt::format("{} coordinates of an element, but the tensor has {} modes", coordinates.size(), tensor.order()));
  }
  for (std::size_t mode = 0; mode < coordinates.size(); ++mode) {
    if (coordinates[mode] < tensor.extents()[mode]) continue;
    return fail(ErrorKind::input, ErrorCode::out_of_range, {},
                fmt::format("coordinate {} in mode {} is not below the extent {}", coordinates[mode], mode, tensor.extents()[mode]));
  }
  return {};
}

Element found_at(const Tensor& tensor, std::span<const std::uint64_t> coordinates) {
  Positions left{0, 1};
  std::uint64_t place = tensor.offset();
  for (std::size_t level = 0; level < tensor.order(); ++level) {
    const std::uint64_t coordinate = coordinates[tensor.format().mode_order[level]];
    left = entered(tensor, level, left, coordinate);
    if (left.begin == left.end) return {};
    place += coordinate * tensor.levels()[level].stride;  // wraps for negative strides, as it must
  }
  const bool strided = tensor.order() > 0 && tensor.format().levels.front().strided;
  if (!strided) place = left.begin;
  if (place >= tensor.values().size_bytes() / scalar_bytes(tensor.format().scalar)) return {};
  return {value_at(tensor.values(), tensor.format().scalar, place), true};
}

/// An element in a layout. What its coordinates tell of a level is located there; slots and starts of blocks, which they do not tell, are
/// tried one behind the other, and coordinates that do not ascend looked through.
class LayoutSearch {
 public:
  LayoutSearch(const Tensor& tensor, const Placement& placement, std::span<const std::uint64_t> coordinates)
      : tensor_(tensor), placement_(placement), values_(placement.levels().size()), variables_(coordinates.begin(), coordinates.end()) {
    variables_.resize(placement.ranges().size());
  }

  /// Its position.
  std::optional<std::uint64_t> run() { return below({0, 1}, 0); }

 private:
  std::optional<std::uint64_t> below(Positions above, std::size_t level) {
    if (level == values_.size()) return above.begin;
    const LayoutLevel& stored = placement_.layout().levels[level];
    const PlacedLevel& placed = placement_.levels()[level];
    const ValueRange here = placed.at(values_);
    if (!stored.value || placement_.starts_at(level) != nullptr) return tried(above, level, here);
    const std::int64_t value = stored.value->at(variables_);
    if (value < here.least || value > here.most) return std::nullopt;
    values_[level] = value;
    const auto coordinate = static_cast<std::uint64_t>(value - here.least);
    if (stored.order == LevelOrder::ascending) {
      const Positions left = entered(tensor_, level, above, coordinate);
      return left.begin == left.end ? std::nullopt : below(left, level + 1);
    }
    const Positions all = children(tensor_, level, above);
    for (std::uint64_t position = all.begin; position < all.end; ++position) {
      if (coordinate_of(level, all, position) != coordinate) continue;
      if (const auto found = below({position, position + 1}, level + 1)) return found;
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> tried(Positions above, std::size_t level, const ValueRange& here) {
    const Positions all = children(tensor_, level, above);
    for (std::uint64_t position = all.begin; position < all.end; ++position) {
      values_[level] = here.least + static_cast<std::int64_t>(coordinate_of(level, all, position));
      if (const PlacedStarts* starts = placement_.starts_at(level)) variables_[starts->name] = values_[level];
      if (const auto found = below({position, position + 1}, level + 1)) return found;
    }
    return std::nullopt;
  }

  std::uint64_t coordinate_of(std::size_t level, Positions siblings, std::uint64_t position) const {
    const Level& kind = tensor_.format().levels[level];
    if (is_dense(kind.kind) || has_lengths(kind.kind)) return position - siblings.begin;
    return StoredCoordinates(tensor_.levels()[level].crd, kind.crd_bits)[position];
  }

  const Tensor& tensor_;
  const Placement& placement_;
  std::vector<std::int64_t> values_;     ///< of the levels
  std::vector<std::int64_t> variables_;  ///< the modes, then the free names
};

Expected<Element> found_in_layout(const Tensor& tensor, std::span<const std::uint64_t> coordinates) {
  const auto placement = Placement::of(*tensor.format().layout, tensor.extents(), "the tensor");
  if (!placement) return std::unexpected(placement.error());
  const auto position = LayoutSearch(tensor, *placement, coordinates).run();
  return position ? Element{value_at(tensor.values(), tensor.format().scalar, *position), true} : Element();
}

}  // namespace

Expected<Element> at(const Tensor& tensor, std::span<const std::uint64_t> coordinates) {
  return guarded({"looking up an element"}, [&]() -> Expected<Element> {
    if (auto right = check_place(tensor, coordinates); !right) return std::unexpected(right.error());
    if (TensorParts::pattern_facts(tensor) != nullptr && !is_verified(tensor))
      if (auto valid = verify_once(tensor, {}, "the tensor"); !valid) return std::unexpected(valid.error());
    return tensor.format().layout ? found_in_layout(tensor, coordinates) : found_at(tensor, coordinates);
  });
}

}  // namespace weft
