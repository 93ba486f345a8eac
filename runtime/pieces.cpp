// Entries visited and chosen; tensors cut and put together along a mode.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/build.h"
#include "runtime/extents.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"
#include "runtime/scalar_traits.h"
#include "weft/entries.h"

namespace weft {
namespace {

constexpr std::uint64_t greatest_extent = ~std::uint64_t{0} >> 1;
constexpr std::uint64_t entries_between_polls = 1 << 16;

std::unexpected<Error> interrupted() { return fail(ErrorKind::cancelled, "interrupted"); }

/// Coordinates and values of a list, one entry at a time.
class ListedEntries {
 public:
  explicit ListedEntries(const Coordinates& list) : list_(list) {
    for (std::size_t mode = 0; mode < list.crd.size(); ++mode) crd_.emplace_back(list.crd[mode], coordinate_bits(list.extents[mode]));
  }
  std::uint64_t coordinate(std::size_t mode, std::uint64_t entry) const { return crd_[mode][entry]; }
  double value(std::uint64_t entry) const {
    return value_at(list_.values, list_.scalar, entry);
  }

 private:
  const Coordinates& list_;
  std::vector<Indices> crd_;
};

/// A list that is written one entry after the other.
class WrittenEntries {
 public:
  static Expected<WrittenEntries> create(std::vector<std::uint64_t> extents, Scalar scalar, std::uint64_t count,
                                         const Resources& resources) {
    WrittenEntries made;
    Coordinates& list = made.list_;
    list.scalar = scalar;
    list.count = count;
    for (const std::uint64_t extent : extents) {
      auto crd = Buffer::allocate(saturating_product(count, coordinate_bits(extent) / 8), resources.memory, "entries");
      if (!crd) return std::unexpected(crd.error());
      list.crd.push_back(std::move(*crd));
    }
    auto values = Buffer::allocate(saturating_product(count, scalar_bytes(scalar)), resources.memory, "entries");
    if (!values) return std::unexpected(values.error());
    list.values = std::move(*values);
    list.extents = std::move(extents);
    return made;
  }

  void coordinate(std::size_t mode, std::uint64_t value) {
    if (coordinate_bits(list_.extents[mode]) == 64) {
      list_.crd[mode].as<std::uint64_t>()[next_] = value;
    } else {
      list_.crd[mode].as<std::uint32_t>()[next_] = static_cast<std::uint32_t>(value);
    }
  }
  void value(double value) {
    put_value(list_.values, list_.scalar, next_, value);
    ++next_;
  }
  Coordinates take() { return std::move(list_); }

 private:
  Coordinates list_;
  std::uint64_t next_ = 0;
};

/// What build() takes: host memory has strides, what is made has none.
Format packed(Format format, Scalar scalar) {
  for (Level& level : format.levels) level.strided = false;
  format.scalar = scalar;
  return format;
}

/// The entries of which `chosen` is true, with the coordinates of `mode` moved down by `begin`.
template <class Chosen>
Expected<Tensor> of_chosen(const Tensor& tensor, const Coordinates& list, std::vector<std::uint64_t> extents, std::size_t mode,
                           std::uint64_t begin, const Chosen& chosen, const Resources& resources, std::string_view name) {
  auto count = Buffer::allocate(list.count, resources.memory, "entries");  // a byte tells whether an entry is chosen
  if (!count) return std::unexpected(count.error());
  std::uint64_t kept = 0;
  for (std::uint64_t entry = 0; entry < list.count; ++entry) {
    if (entry % entries_between_polls == 0 && resources.cancellation.cancelled()) return interrupted();
    if (!chosen(entry)) continue;
    count->as<unsigned char>()[entry] = 1;
    ++kept;
  }
  auto written = WrittenEntries::create(std::move(extents), list.scalar, kept, resources);
  if (!written) return std::unexpected(written.error());
  const ListedEntries entries(list);
  for (std::uint64_t entry = 0; entry < list.count; ++entry) {
    if (count->as<unsigned char>()[entry] == 0) continue;
    for (std::size_t m = 0; m < list.crd.size(); ++m) written->coordinate(m, entries.coordinate(m, entry) - (m == mode ? begin : 0));
    written->value(entries.value(entry));
  }
  return build_from(written->take(), packed(tensor.format(), list.scalar), tensor.format().mode_order, resources, name);
}

Expected<void> check_within(const Tensor& tensor, std::uint32_t mode, std::uint64_t begin, std::uint64_t end) {
  if (mode >= tensor.order()) {
    return fail(ErrorKind::input, ErrorCode::out_of_range, {},
                fmt::format("mode {} of a tensor with {}: they begin at 0", mode, tensor.order()));
  }
  if (begin <= end && end <= tensor.extents()[mode]) return {};
  return fail(ErrorKind::input, ErrorCode::out_of_range, {},
              fmt::format("the range {}:{} is not within the extent {} of mode {}", begin, end, tensor.extents()[mode], mode));
}

Expected<Tensor> part(const Tensor& tensor, const Coordinates& list, std::uint32_t mode, std::uint64_t begin, std::uint64_t end,
                      const Resources& resources) {
  std::vector<std::uint64_t> extents = tensor.extents();
  extents[mode] = end - begin;
  const Indices crd(list.crd[mode], coordinate_bits(list.extents[mode]));
  const auto inside = [&](std::uint64_t entry) { return crd[entry] >= begin && crd[entry] < end; };
  return of_chosen(tensor, list, std::move(extents), mode, begin, inside, resources, "a range of a tensor");
}

/// The extents of what is put together.
Expected<std::vector<std::uint64_t>> joined_extents(std::span<const Tensor> tensors, std::uint32_t mode) {
  if (tensors.empty()) return input_error("there are no tensors to append: a format and extents are those of the first");
  std::vector<std::uint64_t> extents = tensors.front().extents();
  if (auto right = check_within(tensors.front(), mode, 0, 0); !right) return std::unexpected(right.error());
  for (std::size_t number = 1; number < tensors.size(); ++number) {
    const Tensor& tensor = tensors[number];
    if (tensor.order() != extents.size()) {
      return fail(ErrorKind::input, ErrorCode::order, {},
                  fmt::format("tensor {} to append has {} modes, the first has {}", number, tensor.order(), extents.size()));
    }
    for (std::size_t m = 0; m < extents.size(); ++m) {
      if (m == mode || tensor.extents()[m] == extents[m]) continue;
      return fail(ErrorKind::input, ErrorCode::extents_disagree, {},
                  fmt::format("mode {} is {} in tensor {} to append but {} in the first", m, tensor.extents()[m], number, extents[m]));
    }
    extents[mode] = saturating_sum(extents[mode], tensor.extents()[mode]);
    if (extents[mode] > greatest_extent)
      return fail(ErrorKind::input, ErrorCode::out_of_range, {}, fmt::format("the extents of mode {} add up to more than 2^63 - 1", mode));
  }
  return extents;
}

Expected<Tensor> appended_tensors(std::span<const Tensor> tensors, std::uint32_t mode, const Resources& resources) {
  auto extents = joined_extents(tensors, mode);
  if (!extents) return std::unexpected(extents.error());
  std::vector<Coordinates> lists;
  std::uint64_t count = 0;
  Scalar scalar = narrowest_scalar;
  for (const Tensor& tensor : tensors) {
    auto list = entries(tensor, false, resources);
    if (!list) return std::unexpected(list.error());
    count += list->count;
    scalar = wider(scalar, list->scalar);
    lists.push_back(std::move(*list));
  }
  auto written = WrittenEntries::create(std::move(*extents), scalar, count, resources);
  if (!written) return std::unexpected(written.error());
  std::uint64_t begin = 0;
  for (std::size_t number = 0; number < lists.size(); ++number) {
    Coordinates list = std::move(lists[number]);
    const ListedEntries entries(list);
    for (std::uint64_t entry = 0; entry < list.count; ++entry) {
      if (entry % entries_between_polls == 0 && resources.cancellation.cancelled()) return interrupted();
      for (std::size_t m = 0; m < list.crd.size(); ++m) written->coordinate(m, entries.coordinate(m, entry) + (m == mode ? begin : 0));
      written->value(entries.value(entry));
    }
    begin += tensors[number].extents()[mode];
  }
  return build_from(written->take(), packed(tensors.front().format(), scalar), {}, resources, "appended tensors");
}

}  // namespace

Expected<void> for_each_entry(const Tensor& tensor, const VisitEntry& visit, const Resources& resources) {
  return guarded({"visiting the entries of a tensor"}, [&]() -> Expected<void> {
    const auto list = entries(tensor, false, resources);
    if (!list) return std::unexpected(list.error());
    const ListedEntries entries(*list);
    std::vector<std::uint64_t> coordinates(tensor.order());
    for (std::uint64_t entry = 0; entry < list->count; ++entry) {
      if (entry % entries_between_polls == 0 && resources.cancellation.cancelled()) return interrupted();
      for (std::size_t mode = 0; mode < coordinates.size(); ++mode) coordinates[mode] = entries.coordinate(mode, entry);
      if (!visit(coordinates, entries.value(entry))) break;
    }
    return {};
  });
}

Expected<Tensor> filter(const Tensor& tensor, const VisitEntry& keep, const Resources& resources) {
  return guarded({"filtering a tensor"}, [&]() -> Expected<Tensor> {
    const auto list = entries(tensor, false, resources);
    if (!list) return std::unexpected(list.error());
    const ListedEntries entries(*list);
    std::vector<std::uint64_t> coordinates(tensor.order());
    const auto kept = [&](std::uint64_t entry) {
      for (std::size_t mode = 0; mode < coordinates.size(); ++mode) coordinates[mode] = entries.coordinate(mode, entry);
      return keep(coordinates, entries.value(entry));
    };
    return of_chosen(tensor, *list, tensor.extents(), 0, 0, kept, resources, "a filtered tensor");
  });
}

Expected<Tensor> range(const Tensor& tensor, std::uint32_t mode, std::uint64_t begin, std::uint64_t end, const Resources& resources) {
  return guarded({"cutting a tensor"}, [&]() -> Expected<Tensor> {
    if (auto right = check_within(tensor, mode, begin, end); !right) return std::unexpected(right.error());
    const auto list = entries(tensor, false, resources);
    if (!list) return std::unexpected(list.error());
    return part(tensor, *list, mode, begin, end, resources);
  });
}

Expected<Tensor> append(std::span<const Tensor> tensors, std::uint32_t mode, const Resources& resources) {
  return guarded({"appending tensors"}, [&] { return appended_tensors(tensors, mode, resources); });
}

Expected<std::vector<Tensor>> split(const Tensor& tensor, std::uint32_t mode, const std::vector<std::uint64_t>& places,
                                    const Resources& resources) {
  return guarded({"splitting a tensor"}, [&]() -> Expected<std::vector<Tensor>> {
    std::uint64_t begin = 0;
    for (const std::uint64_t place : places) {
      if (auto right = check_within(tensor, mode, begin, place); !right) return std::unexpected(right.error());
      begin = place;
    }
    if (auto right = check_within(tensor, mode, begin, begin); !right) return std::unexpected(right.error());
    const auto list = entries(tensor, false, resources);
    if (!list) return std::unexpected(list.error());
    std::vector<Tensor> parts;
    begin = 0;
    for (std::size_t number = 0; number <= places.size(); ++number) {
      const std::uint64_t end = number < places.size() ? places[number] : tensor.extents()[mode];
      auto one = part(tensor, *list, mode, begin, end, resources);
      if (!one) return std::unexpected(one.error());
      parts.push_back(std::move(*one));
      begin = end;
    }
    return parts;
  });
}

}  // namespace weft
