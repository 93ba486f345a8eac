// One element of a tensor, found level by level.
#include <fmt/format.h>

#include "runtime/convert.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/level_tensor.h"
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

/// First place in [begin, end) whose element is not below `wanted`; the elements ascend.
std::uint64_t first_not_below(const Indices& elements, std::uint64_t begin, std::uint64_t end, std::uint64_t wanted) {
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

Positions equal(const Indices& elements, Positions within, std::uint64_t wanted) {
  const std::uint64_t begin = first_not_below(elements, within.begin, within.end, wanted);
  return {begin, first_not_below(elements, begin, within.end, wanted + 1)};
}

Positions slot_of(const Indices& slots, Positions within, std::uint64_t wanted, unsigned bits) {
  const std::uint64_t count = within.end - within.begin;
  const std::uint64_t first = first_slot(wanted, count);
  for (std::uint64_t probed = 0; probed < count; ++probed) {
    const std::uint64_t slot = within.begin + (first + probed) % count;
    if (slots[slot] == wanted) return {slot, slot + 1};
    if (slots[slot] == empty_slot(bits)) break;
  }
  return {};
}

/// What a coordinate leaves of the positions of a level.
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
  const Indices crd(arrays.crd, kind.crd_bits);
  if (is_per_parent(kind.kind)) return equal(crd, above, coordinate);
  const Indices pos(arrays.pos, kind.pos_bits);
  const Positions fiber{pos[above.begin], pos[above.begin + 1]};
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

/// By the place of the coordinates, or among the entries in a plain format where that depends on what else is stored.
Expected<Element> found_in_layout(const Tensor& tensor, std::span<const std::uint64_t> coordinates) {
  const Layout& layout = *tensor.format().layout;
  const auto placement = Placement::of(layout, tensor.extents(), "the tensor");
  if (!placement) return std::unexpected(placement.error());
  const bool searched = std::ranges::any_of(layout.levels, [](const LayoutLevel& level) { return level.order != LevelOrder::ascending; });
  if (placement->depends_on_data() || searched) {
    const auto plain = in_plain_format(tensor, {}, "the tensor");
    if (!plain) return std::unexpected(plain.error());
    return found_at(*plain, coordinates);
  }
  const auto levels = level_tensor(tensor, {}, "the tensor");
  if (!levels) return std::unexpected(levels.error());
  std::vector<std::uint64_t> place(layout.levels.size());
  return placement->place(coordinates, place) ? found_at(*levels, place) : Element();
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
