#include "frontend/stored.h"

#include <algorithm>

#include "runtime/entries.h"
#include "runtime/gaps.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"

namespace weft {
namespace {

std::uint64_t element(const Buffer& buffer, unsigned bits, std::uint64_t place) {
  return bits == 64 ? buffer.as<const std::uint64_t>()[place] : buffer.as<const std::uint32_t>()[place];
}

double value_at(const Tensor& tensor, std::uint64_t position) {
  return value_at(tensor.values(), tensor.format().scalar, position);
}

/// First place in [begin, end) whose element is not below `wanted`.
template <class ElementAt>
std::uint64_t lower_bound(std::uint64_t begin, std::uint64_t end, std::uint64_t wanted, const ElementAt& element_at) {
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (element_at(middle) < wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

class Walk {
 public:
  Walk(const Tensor& tensor, const std::vector<Selected>& selected, const Cancellation& cancellation, const VisitEntry& visit)
      : tensor_(tensor), selected_(selected), cancellation_(cancellation), visit_(visit), coordinates_(tensor.order()) {}

  /// False: the visitor has enough, or it was cancelled.
  bool descend(std::size_t level, std::uint64_t parent) {
    if (level == tensor_.order()) return visit_(coordinates_, value_at(tensor_, parent));
    const Selected& selected = selected_[tensor_.format().mode_order[level]];
    if (selected.count == 0) return true;
    const Level& kind = tensor_.format().levels[level];
    const LevelArrays& arrays = tensor_.levels()[level];
    const auto crd = [&](std::uint64_t position) { return element(arrays.crd, kind.crd_bits, position); };
    const std::uint64_t extent = tensor_.extent_of_level(level);
    switch (kind.kind) {
      case LevelKind::dense:
        return ascending(selected, [&](std::uint64_t c) { return enter(level, c, parent * extent + c); });
      case LevelKind::bitmap:
        return ascending(selected, [&](std::uint64_t c) {
          const std::uint64_t word = arrays.crd.as<const std::uint64_t>()[parent * bitmap_words(extent) + c / 64];
          return (word >> (c % 64) & 1) == 0 || enter(level, c, parent * extent + c);
        });
      case LevelKind::singleton:
        return enter(level, crd(parent), parent);
      case LevelKind::hashed:
        for (std::uint64_t slot = element(arrays.pos, kind.pos_bits, parent); slot < element(arrays.pos, kind.pos_bits, parent + 1);
             ++slot) {
          if (crd(slot) != empty_slot(kind.crd_bits) && !enter(level, crd(slot), slot)) return false;
        }
        return true;
      case LevelKind::compressed:
      case LevelKind::compressed_nonunique: {
        const std::uint64_t end = element(arrays.pos, kind.pos_bits, parent + 1);
        std::uint64_t position = lower_bound(element(arrays.pos, kind.pos_bits, parent), end, selected.lowest(), crd);
        for (; position < end && crd(position) <= selected.highest(); ++position) {
          if (!enter(level, crd(position), position)) return false;
        }
        return true;
      }
      case LevelKind::accumulator:  // of workspaces, never of a tensor
      case LevelKind::variable:     // of layouts, whose tensors are walked as plain copies
        break;
    }
    return true;
  }

  bool cancelled() const { return cancelled_; }

 private:
  template <class Body>
  bool ascending(const Selected& selected, const Body& body) {
    for (std::uint64_t place = 0; place < selected.count; ++place) {
      if (!body(selected.coordinate(selected.step < 0 ? selected.count - 1 - place : place))) return false;
    }
    return true;
  }

  bool enter(std::size_t level, std::uint64_t coordinate, std::uint64_t position) {
    if (++steps_ % 4096 == 0 && cancellation_.cancelled()) {
      cancelled_ = true;
      return false;
    }
    const std::uint32_t mode = tensor_.format().mode_order[level];
    if (!selected_[mode].place(coordinate)) return true;
    coordinates_[mode] = coordinate;
    return descend(level + 1, position);
  }

  const Tensor& tensor_;
  const std::vector<Selected>& selected_;
  const Cancellation& cancellation_;
  const VisitEntry& visit_;
  std::vector<std::uint64_t> coordinates_;
  std::uint64_t steps_ = 0;
  bool cancelled_ = false;
};

}  // namespace

Expected<Tensor> plain_entries(const Tensor& tensor, const Resources& resources, std::string_view name) {
  auto listed = entries(tensor, true, resources);
  return listed ? build(std::move(*listed), sparse_format(tensor.order(), tensor.format().scalar), resources, name)
                : std::unexpected(listed.error());
}

Expected<void> visit_entries(const Tensor& tensor, const std::vector<Selected>& selected, const Cancellation& cancellation,
                             const VisitEntry& visit) {
  if (tensor.format().layout) {
    const auto plain = plain_entries(tensor, Resources{Memory(), Threads(1), cancellation, {}}, "entries in a layout");
    return plain ? visit_entries(*plain, selected, cancellation, visit) : std::unexpected(plain.error());
  }
  Walk walk(tensor, selected, cancellation, visit);
  walk.descend(0, 0);
  if (walk.cancelled()) return fail(ErrorKind::cancelled, "interrupted");
  return {};
}

StoredEntry entry_at(const Tensor& tensor, std::uint64_t position) {
  StoredEntry entry{std::vector<std::uint64_t>(tensor.order()), value_at(tensor, position)};
  for (std::size_t level = tensor.order(); level-- > 0;) {
    const Level& kind = tensor.format().levels[level];
    std::uint64_t& coordinate = entry.coordinates[tensor.format().mode_order[level]];
    if (is_dense(kind.kind)) {
      coordinate = position % tensor.extent_of_level(level);
      position /= tensor.extent_of_level(level);
      continue;
    }
    coordinate = element(tensor.levels()[level].crd, kind.crd_bits, position);
    if (is_per_parent(kind.kind)) continue;
    // The parent is the last whose children begin at or before the position: those before it are empty or end sooner.
    const std::uint64_t parents = tensor.levels()[level].pos.size_bytes() / (kind.pos_bits / 8);
    position = lower_bound(0, parents, position + 1, [&](std::uint64_t parent) {
      return element(tensor.levels()[level].pos, kind.pos_bits, parent);
    }) - 1;
  }
  return entry;
}

}  // namespace weft
