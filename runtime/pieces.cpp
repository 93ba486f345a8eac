// Entries visited and chosen; tensors cut and put together along a mode.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <utility>

#include "runtime/blocks.h"
#include "runtime/build.h"
#include "runtime/convert.h"
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

/// An index array of either width that is written to.
class PlacedIndices {
 public:
  PlacedIndices(Buffer& buffer, unsigned bits) : data_(buffer.data()), wide_(bits == 64) {}
  void put(std::uint64_t place, std::uint64_t value) const {
    if (wide_) {
      static_cast<std::uint64_t*>(data_)[place] = value;
    } else {
      static_cast<std::uint32_t*>(data_)[place] = static_cast<std::uint32_t>(value);
    }
  }

 private:
  void* data_;
  bool wide_;
};

/// Memory for a list of so many entries.
Expected<Coordinates> room_for(std::vector<std::uint64_t> extents, Scalar scalar, std::uint64_t count, const Resources& resources) {
  Coordinates list;
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
  return list;
}

/// What build() takes: host memory has strides, what is made has none.
Format packed(Format format, Scalar scalar) {
  for (Level& level : format.levels) level.strided = false;
  format.scalar = scalar;
  return format;
}

/// Entries that go to one of several lists, or to none, each list in the order of the entries, whatever the number of threads.
/// For every block of them `in_block()` makes what is asked once for each entry: its list, or the number of lists for none. By
/// several threads at once, unless `calls` says otherwise.
class Distribution {
 public:
  template <class InBlock>
  static Expected<Distribution> of(std::uint64_t entries, std::uint32_t lists, Calls calls, const Resources& resources,
                                   const InBlock& in_block) {
    auto chosen = Buffer::allocate(saturating_product(entries, sizeof(std::uint16_t)), resources.memory, "entries");
    if (!chosen) return std::unexpected(chosen.error());
    Distribution made(Blocks(entries, resources.threads), lists, std::move(*chosen));
    std::atomic<bool> stopped{false};
    const auto choose = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      const std::span<std::uint16_t> to = made.chosen_.as<std::uint16_t>();
      auto list_of = in_block();
      for (std::uint64_t entry = begin; entry < end; ++entry) {
        if ((entry - begin) % entries_between_polls == 0 && (stopped = stopped || resources.cancellation.cancelled())) return;
        to[entry] = static_cast<std::uint16_t>(list_of(entry));
        ++made.next_[block * (lists + 1) + to[entry]];
      }
    };
    if (calls == Calls::one_at_a_time) {
      for (std::uint64_t block = 0; block < made.blocks_.number; ++block) choose(made.blocks_.begin(block), made.blocks_.end(block), block);
    } else {
      for_blocks(resources.threads, made.blocks_, choose);
    }
    if (stopped) return interrupted();
    made.place();
    return made;
  }
  /// Of the places of std::uint16_t one stands for none.
  static constexpr std::uint32_t most_lists = 1024;

  std::uint64_t count(std::uint32_t list) const { return counts_[list]; }

  /// Writes an array of every list: f(list, place, entry) for every entry that goes to one.
  template <class F>
  Expected<void> for_each(const Resources& resources, const F& f) const {
    for_blocks(resources.threads, blocks_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      const auto first = next_.begin() + static_cast<std::ptrdiff_t>(block * (lists_ + 1));
      std::vector<std::uint64_t> next(first, first + lists_ + 1);
      const std::span<const std::uint16_t> to = chosen_.as<const std::uint16_t>();
      for (std::uint64_t entry = begin; entry < end; ++entry) {
        if ((entry - begin) % entries_between_polls == 0 && resources.cancellation.cancelled()) return;
        if (const std::uint32_t list = to[entry]; list < lists_) f(list, next[list]++, entry);
      }
    });
    if (resources.cancellation.cancelled()) return interrupted();
    return {};
  }

 private:
  Distribution(Blocks blocks, std::uint32_t lists, Buffer chosen)
      : blocks_(blocks), lists_(lists), chosen_(std::move(chosen)), next_(blocks.number * (lists + 1)), counts_(lists + 1) {}

  /// Counts become the places where the entries of each block begin.
  void place() {
    for (std::uint64_t block = 0; block < blocks_.number; ++block)
      for (std::uint32_t list = 0; list <= lists_; ++list) {
        std::uint64_t& next = next_[block * (lists_ + 1) + list];
        counts_[list] += std::exchange(next, counts_[list]);
      }
  }

  Blocks blocks_;
  std::uint32_t lists_;
  Buffer chosen_;                     ///< by entry: its list, or lists_
  std::vector<std::uint64_t> next_;   ///< by block and list
  std::vector<std::uint64_t> counts_; ///< by list
};

/// The lists of a distribution, the coordinates of `mode` moved down by begins[list], over those extents.
Expected<std::vector<Coordinates>> distributed(const Coordinates& list, const Distribution& distribution, std::uint32_t mode,
                                               const std::vector<std::uint64_t>& begins,
                                               const std::vector<std::vector<std::uint64_t>>& extents, const Resources& resources) {
  std::vector<Coordinates> lists;
  for (std::uint32_t number = 0; number < extents.size(); ++number) {
    auto room = room_for(extents[number], list.scalar, distribution.count(number), resources);
    if (!room) return std::unexpected(room.error());
    lists.push_back(std::move(*room));
  }
  for (std::uint32_t m = 0; m < list.crd.size(); ++m) {
    const Indices from(list.crd[m], coordinate_bits(list.extents[m]));
    std::vector<PlacedIndices> to;
    for (Coordinates& one : lists) to.emplace_back(one.crd[m], coordinate_bits(one.extents[m]));
    const auto written = distribution.for_each(resources, [&](std::uint32_t number, std::uint64_t place, std::uint64_t entry) {
      to[number].put(place, from[entry] - (m == mode ? begins[number] : 0));
    });
    if (!written) return std::unexpected(written.error());
  }
  const auto written = with_width(scalar_bytes(list.scalar) * 8, [&]<class T>(T) {  // moved as bits, whatever the scalar is
    const auto from = list.values.as<const T>();
    std::vector<std::span<T>> to;
    for (Coordinates& one : lists) to.push_back(one.values.as<T>());
    return distribution.for_each(resources, [&](std::uint32_t number, std::uint64_t place, std::uint64_t entry) {
      to[number][place] = from[entry];
    });
  });
  if (!written) return std::unexpected(written.error());
  return lists;
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

/// The parts between neighbouring places: entries before the first and from the last on are in none.
Expected<std::vector<Tensor>> parts_between(const Tensor& tensor, const Coordinates& list, std::uint32_t mode,
                                            std::span<const std::uint64_t> places, const Resources& resources) {
  const auto lists = static_cast<std::uint32_t>(places.size() - 1);
  const Indices crd(list.crd[mode], coordinate_bits(list.extents[mode]));
  const auto in_block = [&] {
    return [&](std::uint64_t entry) {
      const std::uint64_t coordinate = crd[entry];
      if (coordinate < places.front() || coordinate >= places.back()) return lists;
      return static_cast<std::uint32_t>(std::ranges::upper_bound(places, coordinate) - places.begin() - 1);
    };
  };
  const auto distribution = Distribution::of(list.count, lists, Calls::at_once, resources, in_block);
  if (!distribution) return std::unexpected(distribution.error());
  const std::vector<std::uint64_t> begins(places.begin(), places.end() - 1);
  std::vector<std::vector<std::uint64_t>> extents(lists, tensor.extents());
  for (std::uint32_t number = 0; number < lists; ++number) extents[number][mode] = places[number + 1] - places[number];
  auto written = distributed(list, *distribution, mode, begins, extents, resources);
  if (!written) return std::unexpected(written.error());
  std::vector<Tensor> parts;
  for (Coordinates& one : *written) {
    auto part = build_from(std::move(one), packed(tensor.format(), list.scalar), tensor.format().mode_order, resources,
                           "a range of a tensor");
    if (!part) return std::unexpected(part.error());
    parts.push_back(std::move(*part));
  }
  return parts;
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

/// Writes a list to places of another from `first` on, the coordinates of `mode` moved up by `begin`.
void copy_entries(const Coordinates& from, Coordinates& to, std::uint64_t first, std::uint32_t mode, std::uint64_t begin,
                  const Resources& resources) {
  for_parts(resources, Blocks(from.count, resources.threads), [&](std::uint64_t begins, std::uint64_t ends, std::uint64_t) {
    for (std::uint32_t m = 0; m < from.crd.size(); ++m) {
      const Indices crd(from.crd[m], coordinate_bits(from.extents[m]));
      const PlacedIndices places(to.crd[m], coordinate_bits(to.extents[m]));
      for (std::uint64_t entry = begins; entry < ends; ++entry) places.put(first + entry, crd[entry] + (m == mode ? begin : 0));
    }
    for (std::uint64_t entry = begins; entry < ends; ++entry)
      put_value(to.values, to.scalar, first + entry, value_at(from.values, from.scalar, entry));
  });
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
  auto written = room_for(std::move(*extents), scalar, count, resources);
  if (!written) return std::unexpected(written.error());
  std::uint64_t begin = 0, first = 0;
  for (std::size_t number = 0; number < lists.size(); ++number) {
    if (resources.cancellation.cancelled()) return interrupted();
    const Coordinates list = std::move(lists[number]);
    copy_entries(list, *written, first, mode, begin, resources);
    first += list.count;
    begin += tensors[number].extents()[mode];
  }
  if (resources.cancellation.cancelled()) return interrupted();
  // One behind the other in the mode that is stored first they are in order; else not in any that is known.
  const std::vector<std::uint32_t>& order = tensors.front().format().mode_order;
  const auto in_order = [&](const Tensor& tensor) { return tensor.format().mode_order == order; };
  const bool sorted = !order.empty() && order.front() == mode && std::ranges::all_of(tensors, in_order);
  const std::span<const std::uint32_t> already = sorted ? std::span(order) : std::span<const std::uint32_t>();
  return build_from(std::move(*written), packed(tensors.front().format(), scalar), already, resources, "appended tensors");
}

/// What `make` returns of the tensor in a plain format, in that of the tensor again: entries that building added are none there.
template <class Make>
Expected<Tensor> by_way_of_plain(const Tensor& tensor, const Resources& resources, std::string_view name, const Make& make) {
  const auto plain = in_plain_format(tensor, resources, name);
  if (!plain) return std::unexpected(plain.error());
  auto made = make(*plain);
  return made ? convert(*made, tensor.format(), resources, name) : made;
}

}  // namespace

Expected<void> for_each_entry(const Tensor& tensor, const VisitEntry& visit, const Resources& resources) {
  if (!visit) return input_error("there is no function that visits the entries");
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

Expected<Tensor> filter(const Tensor& tensor, const VisitEntry& keep, const Resources& resources, Calls calls) {
  if (!keep) return input_error("there is no function that says which entries are kept");
  return guarded({"filtering a tensor"}, [&]() -> Expected<Tensor> {
    if (tensor.format().layout)
      return by_way_of_plain(tensor, resources, "a filtered tensor",
                             [&](const Tensor& plain) { return filter(plain, keep, resources, calls); });
    const auto list = entries(tensor, false, resources);
    if (!list) return std::unexpected(list.error());
    const ListedEntries entries(*list);
    const auto in_block = [&] {
      return [&, coordinates = std::vector<std::uint64_t>(tensor.order())](std::uint64_t entry) mutable {
        for (std::size_t mode = 0; mode < coordinates.size(); ++mode) coordinates[mode] = entries.coordinate(mode, entry);
        return keep(coordinates, entries.value(entry)) ? 0U : 1U;
      };
    };
    const auto distribution = Distribution::of(list->count, 1, calls, resources, in_block);
    if (!distribution) return std::unexpected(distribution.error());
    auto kept = distributed(*list, *distribution, 0, {0}, {tensor.extents()}, resources);
    if (!kept) return std::unexpected(kept.error());
    return build_from(std::move(kept->front()), packed(tensor.format(), list->scalar), tensor.format().mode_order, resources,
                      "a filtered tensor");
  });
}

Expected<Tensor> filter(const Tensor& tensor, const VisitEntry& keep, const Resources& resources) {
  return filter(tensor, keep, resources, Calls::one_at_a_time);
}

Expected<Tensor> range(const Tensor& tensor, std::uint32_t mode, std::uint64_t begin, std::uint64_t end, const Resources& resources) {
  return guarded({"cutting a tensor"}, [&]() -> Expected<Tensor> {
    if (auto right = check_within(tensor, mode, begin, end); !right) return std::unexpected(right.error());
    if (tensor.format().layout)
      return by_way_of_plain(tensor, resources, "a range of a tensor",
                             [&](const Tensor& plain) { return range(plain, mode, begin, end, resources); });
    const auto list = entries(tensor, false, resources);
    if (!list) return std::unexpected(list.error());
    auto parts = parts_between(tensor, *list, mode, std::array{begin, end}, resources);
    if (!parts) return std::unexpected(parts.error());
    return std::move(parts->front());
  });
}

Expected<Tensor> append(std::span<const Tensor> tensors, std::uint32_t mode, const Resources& resources) {
  return guarded({"appending tensors"}, [&]() -> Expected<Tensor> {
    if (std::ranges::none_of(tensors, [](const Tensor& tensor) { return tensor.format().layout != nullptr; }))
      return appended_tensors(tensors, mode, resources);
    std::vector<Tensor> plain;
    for (const Tensor& tensor : tensors) {
      auto one = in_plain_format(tensor, resources, "a tensor to append");
      if (!one) return one;
      plain.push_back(std::move(*one));
    }
    return by_way_of_plain(tensors.front(), resources, "appended tensors",
                           [&](const Tensor&) { return appended_tensors(plain, mode, resources); });
  });
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
    if (tensor.format().layout) {
      const auto plain = in_plain_format(tensor, resources, "a tensor to split");
      auto parts = plain ? split(*plain, mode, places, resources) : Expected<std::vector<Tensor>>(std::unexpected(plain.error()));
      for (std::size_t number = 0; parts && number < parts->size(); ++number) {
        auto part = convert((*parts)[number], tensor.format(), resources, "a range of a tensor");
        if (!part) return std::unexpected(part.error());
        (*parts)[number] = std::move(*part);
      }
      return parts;
    }
    const auto list = entries(tensor, false, resources);
    if (!list) return std::unexpected(list.error());
    std::vector<std::uint64_t> all{0};
    all.insert(all.end(), places.begin(), places.end());
    all.push_back(tensor.extents()[mode]);
    std::vector<Tensor> parts;
    for (std::size_t first = 0; first + 1 < all.size(); first += Distribution::most_lists) {
      const auto several = std::span(all).subspan(first).first(std::min<std::size_t>(all.size() - first, Distribution::most_lists + 1));
      auto some = parts_between(tensor, *list, mode, several, resources);
      if (!some) return std::unexpected(some.error());
      std::ranges::move(*some, std::back_inserter(parts));
    }
    return parts;
  });
}

}  // namespace weft
