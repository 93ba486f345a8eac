#include "runtime/gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/blocks.h"
#include "runtime/charge.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"
#include "runtime/widths.h"
#include "weft/layout.h"

namespace weft {
namespace {

constexpr std::uint64_t gap = saturated;

struct Child {
  std::uint64_t coordinate = 0;
  std::uint64_t position = 0;
};

/// The fibers of a level that is not dense, as it is stored.
class Fibers {
 public:
  Fibers(const Tensor& tensor, std::size_t level)
      : kind_(tensor.format().levels[level].kind),
        extent_(tensor.extent_of_level(level)),
        pos_(tensor.levels()[level].pos, tensor.format().levels[level].pos_bits),
        crd_(tensor.levels()[level].crd, has_bits(kind_) ? 64 : tensor.format().levels[level].crd_bits),
        empty_(empty_slot(tensor.format().levels[level].crd_bits)) {}

  std::uint64_t length(std::uint64_t parent) const {
    if (parent == gap) return 0;
    std::uint64_t count = 0;
    if (has_bits(kind_)) {
      const std::uint64_t words = bitmap_words(extent_);
      for (std::uint64_t word = 0; word < words; ++word)
        count += static_cast<std::uint64_t>(std::popcount(crd_[parent * words + word]));
    } else if (has_slots(kind_)) {
      for (std::uint64_t slot = pos_[parent]; slot < pos_[parent + 1]; ++slot) count += crd_[slot] != empty_;
    } else {
      count = pos_[parent + 1] - pos_[parent];
    }
    return count;
  }

  /// In the order of coordinates.
  void list(std::uint64_t parent, std::vector<Child>& children) const {
    children.clear();
    if (parent == gap) return;
    if (has_bits(kind_)) {
      const std::uint64_t words = bitmap_words(extent_);
      for (std::uint64_t word = 0; word < words; ++word)
        for (std::uint64_t bits = crd_[parent * words + word]; bits != 0; bits &= bits - 1) {
          const std::uint64_t coordinate = word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
          children.push_back({coordinate, parent * extent_ + coordinate});
        }
      return;
    }
    for (std::uint64_t position = pos_[parent]; position < pos_[parent + 1]; ++position)
      if (!has_slots(kind_) || crd_[position] != empty_) children.push_back({crd_[position], position});
    if (has_slots(kind_)) std::ranges::sort(children, {}, &Child::coordinate);
  }

 private:
  LevelKind kind_;
  std::uint64_t extent_;
  Indices pos_;
  Indices crd_;
  std::uint64_t empty_;
};

/// What Relaying holds at the same time, at least, counted level by level.
class LeastBytes {
 public:
  void add(const Level& level, std::uint64_t extent, std::uint64_t entries) {
    const std::uint64_t parents = positions_;
    if (is_by_extent(level.kind)) {
      positions_ = saturating_product(parents, extent);
    } else if (!is_per_parent(level.kind)) {
      positions_ = has_slots(level.kind) ? saturating_sum(entries, entries / 2) : entries;
    }
    moved_ = moved_ || has_gaps(level.kind);  // levels above are shared
    if (!moved_) return;
    const std::uint64_t origins = saturating_product(positions_, sizeof(std::uint64_t));
    const std::uint64_t above = is_per_parent(level.kind) ? 0 : std::exchange(origins_, origins);
    std::uint64_t counted = 0;  // ends of fibers, until those of 32 bits are made
    if (has_bits(level.kind)) arrays_ = saturating_sum(arrays_, saturating_product(parents, 8 * bitmap_words(extent)));
    if (has_coordinates(level.kind)) arrays_ = saturating_sum(arrays_, saturating_product(positions_, level.crd_bits / 8));
    if (has_pos(level.kind)) {
      const std::uint64_t ends = saturating_product(saturating_sum(parents, 1), sizeof(std::uint32_t));
      arrays_ = saturating_sum(arrays_, ends);
      counted = saturating_product(ends, level.pos_bits == 32 ? 2 : 1);  // 64 bits stay, if there are as many entries as may be
    }
    hold(saturating_sum(saturating_sum(above, origins_), counted));
  }
  void add_values(Scalar scalar) { hold(saturating_sum(origins_, saturating_product(positions_, scalar_bytes(scalar)))); }
  std::uint64_t most() const { return most_; }

 private:
  void hold(std::uint64_t beside) { most_ = std::max(most_, saturating_sum(arrays_, beside)); }

  std::uint64_t positions_ = 1;
  bool moved_ = false;
  std::uint64_t arrays_ = 0;   ///< those that stay
  std::uint64_t origins_ = 0;  ///< of the level before
  std::uint64_t most_ = 0;
};

/// From level to level: which position of the given tensor every position of the new one stands for.
class Relaying {
 public:
  Relaying(const Tensor& tensor, const Format& format, const Resources& resources, std::string_view name)
      : from_(tensor), resources_(resources), name_(name) {
    to_.format = format;
    to_.extents = tensor.extents();
    to_.levels.resize(format.order());
  }

  Expected<Tensor> run() {
    if (auto room = has_room(); !room) return std::unexpected(room.error());
    for (std::size_t level = 0; level < to_.order(); ++level) {
      if (resources_.cancellation.cancelled())
        return fail(ErrorKind::cancelled, fmt::format("cancelled while converting {}", name_));
      if (auto added = add(level); !added) return std::unexpected(added.error());
    }
    if (auto added = add_values(); !added) return std::unexpected(added.error());
    return made(std::move(to_));
  }

 private:
  Expected<void> has_room() const {
    if (!has_gaps(to_.format)) return {};
    KnownAhead known{.most = 0};
    for (std::size_t level = 0; level < to_.order(); ++level) {
      known.least.push_back(entries_of_level(from_, level));
      known.most = std::max(known.most, known.least.back());
    }
    return room_for_gaps(to_.format, to_.extents, known, resources_, name_);
  }

  Expected<Buffer> allocate(std::uint64_t elements, std::uint64_t bytes) const {
    const std::uint64_t size = saturating_product(elements, bytes);
    if (size == saturated) return beyond_addresses(to_.format, nullptr, name_);
    return Buffer::allocate(size, resources_.memory, name_);
  }

  std::uint64_t origin(std::uint64_t position) const { return moved_ ? origin_.as<std::uint64_t>()[position] : position; }

  /// The origins of a level with so many positions, gaps to begin with.
  Expected<Buffer> origins(std::uint64_t positions) const {
    auto made = allocate(positions, sizeof(std::uint64_t));
    if (made) std::ranges::fill(made->as<std::uint64_t>(), gap);
    return made;
  }

  template <class F>
  void for_parents(F&& f) const {
    for_blocks(resources_.threads, Blocks(positions_, resources_.threads, 1 << 10),
               [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                 std::vector<Child> children;
                 for (std::uint64_t parent = begin; parent < end; ++parent) f(parent, children);
               });
  }

  Expected<void> add(std::size_t level) {
    switch (to_.format.levels[level].kind) {
      case LevelKind::dense: return add_dense(level);
      case LevelKind::singleton: return add_singleton(level);
      case LevelKind::bitmap: return add_bitmap(level);
      case LevelKind::compressed:
      case LevelKind::compressed_nonunique:
      case LevelKind::hashed:
      case LevelKind::variable:
      case LevelKind::accumulator: break;
    }
    return add_listed(level);
  }

  Expected<void> add_dense(std::size_t level) {
    const std::uint64_t extent = to_.extent_of_level(level);
    const std::uint64_t positions = saturating_product(positions_, extent);
    if (moved_) {
      auto made = origins(positions);
      if (!made) return std::unexpected(made.error());
      auto below = made->as<std::uint64_t>();
      for_parents([&](std::uint64_t parent, std::vector<Child>&) {
        if (origin(parent) == gap) return;
        for (std::uint64_t c = 0; c < extent; ++c) below[parent * extent + c] = origin(parent) * extent + c;
      });
      origin_ = std::move(*made);
    }
    positions_ = positions;
    return {};
  }

  Expected<void> add_singleton(std::size_t level) {
    const Level& from = from_.format().levels[level];
    Level& stored = to_.format.levels[level];
    stored.crd_bits = from.crd_bits;
    if (!moved_) {
      to_.levels[level].crd = from_.levels()[level].crd;
      return {};
    }
    auto crd = allocate(positions_, stored.crd_bits / 8);
    if (!crd) return std::unexpected(crd.error());
    with_width(stored.crd_bits, [&]<class T>(T) {
      auto given = from_.levels()[level].crd.as<T>();
      auto made = crd->as<T>();
      for_parents([&](std::uint64_t parent, std::vector<Child>&) { made[parent] = given[origin(parent)]; });
    });
    to_.levels[level].crd = std::move(*crd);
    return {};
  }

  Expected<void> add_bitmap(std::size_t level) {
    const std::uint64_t extent = to_.extent_of_level(level);
    const std::uint64_t words = bitmap_words(extent);
    auto crd = allocate(saturating_product(positions_, words), sizeof(std::uint64_t));
    if (!crd) return std::unexpected(crd.error());
    auto made = origins(saturating_product(positions_, extent));
    if (!made) return std::unexpected(made.error());
    auto bits = crd->as<std::uint64_t>();
    auto below = made->as<std::uint64_t>();
    const Fibers fibers(from_, level);
    for_parents([&](std::uint64_t parent, std::vector<Child>& children) {
      fibers.list(origin(parent), children);
      for (const Child& child : children) {
        bits[parent * words + child.coordinate / 64] |= std::uint64_t{1} << (child.coordinate % 64);
        below[parent * extent + child.coordinate] = child.position;
      }
    });
    to_.levels[level].crd = std::move(*crd);
    move_to(std::move(*made), saturating_product(positions_, extent));
    return {};
  }

  /// Compressed, nonunique or hashed.
  Expected<void> add_listed(std::size_t level) {
    const Fibers fibers(from_, level);
    Level& stored = to_.format.levels[level];
    const bool hashed = has_slots(stored.kind);
    if (!moved_ && stored.kind == from_.format().levels[level].kind && !hashed) {
      stored = from_.format().levels[level];
      to_.levels[level] = from_.levels()[level];
      positions_ = from_.positions(level);
      return {};
    }
    auto counted = allocate(positions_ == saturated ? saturated : positions_ + 1, sizeof(std::uint64_t));
    if (!counted) return std::unexpected(counted.error());
    auto ends = counted->as<std::uint64_t>();
    for_parents([&](std::uint64_t parent, std::vector<Child>&) {
      const std::uint64_t length = fibers.length(origin(parent));
      ends[parent + 1] = hashed ? slots_for(length) : length;
    });
    for (std::uint64_t parent = 0; parent < positions_; ++parent) ends[parent + 1] += ends[parent];
    const std::uint64_t total = ends[positions_];
    widen(stored.crd_bits, needed_coordinate_bits(stored.kind, to_.extent_of_level(level)));
    widen(stored.pos_bits, position_bits(total));
    auto crd = allocate(total, stored.crd_bits / 8);
    if (!crd) return std::unexpected(crd.error());
    auto made = origins(total);
    if (!made) return std::unexpected(made.error());
    auto below = made->as<std::uint64_t>();
    with_width(stored.crd_bits, [&]<class T>(T) {
      auto coordinates = crd->as<T>();
      if (hashed) std::ranges::fill(coordinates, static_cast<T>(empty_slot(stored.crd_bits)));
      for_parents([&](std::uint64_t parent, std::vector<Child>& children) {
        fibers.list(origin(parent), children);
        const std::uint64_t begin = ends[parent];
        const std::uint64_t slots = ends[parent + 1] - begin;
        for (std::uint64_t n = 0; n < children.size(); ++n) {
          std::uint64_t slot = n;
          if (hashed)
            for (slot = first_slot(children[n].coordinate, slots); below[begin + slot] != gap; slot = (slot + 1) % slots) {
            }
          coordinates[begin + slot] = static_cast<T>(children[n].coordinate);
          below[begin + slot] = children[n].position;
        }
      });
    });
    to_.levels[level].crd = std::move(*crd);
    if (stored.pos_bits == 64) {
      to_.levels[level].pos = std::move(*counted);
    } else {
      auto pos = allocate(positions_ + 1, sizeof(std::uint32_t));
      if (!pos) return std::unexpected(pos.error());
      std::ranges::transform(ends, pos->as<std::uint32_t>().begin(),
                             [](std::uint64_t end) { return static_cast<std::uint32_t>(end); });
      to_.levels[level].pos = std::move(*pos);
    }
    move_to(std::move(*made), total);
    return {};
  }

  void move_to(Buffer origins, std::uint64_t positions) {
    origin_ = std::move(origins);
    moved_ = true;
    positions_ = positions;
  }

  Expected<void> add_values() {
    if (!moved_) {
      to_.values = from_.values();
      return {};
    }
    const unsigned bytes = scalar_bytes(to_.format.scalar);
    auto values = allocate(positions_, bytes);
    if (!values) return std::unexpected(values.error());
    with_width(bytes * 8, [&]<class T>(T) {  // moved as bits; those of 0 are 0
      auto given = from_.values().as<T>();
      auto made = values->as<T>();
      for_parents([&](std::uint64_t position, std::vector<Child>&) {
        if (origin(position) != gap) made[position] = given[origin(position)];
      });
    });
    to_.values = std::move(*values);
    return {};
  }

  const Tensor& from_;
  const Resources& resources_;
  std::string_view name_;
  TensorArrays to_;
  std::uint64_t positions_ = 1;  ///< of the level before, in the new tensor
  bool moved_ = false;           ///< positions differ from the given tensor's
  Buffer origin_;                ///< if so: by position, that of the given tensor, or `gap`
};

}  // namespace

bool has_gaps(const Format& format) {
  return std::ranges::any_of(format.levels, [](const Level& level) { return has_gaps(level.kind); });
}

bool below_gaps(const std::vector<Level>& levels, std::size_t level) {
  while (level > 0 && (is_dense(levels[level - 1].kind) || is_per_parent(levels[level - 1].kind))) --level;
  return level > 0 && has_gaps(levels[level - 1].kind);
}

Format without_gaps(Format format) {
  for (Level& level : format.levels)
    if (has_gaps(level.kind)) level.kind = LevelKind::compressed;
  return format;
}

std::uint64_t entries_of_level(const Tensor& tensor, std::size_t level) {
  const LevelKind kind = tensor.format().levels[level].kind;
  if (!has_gaps(kind)) return tensor.positions(level);
  std::uint64_t count = 0;
  if (has_bits(kind)) {
    for (const std::uint64_t word : tensor.levels()[level].crd.as<std::uint64_t>())
      count += static_cast<std::uint64_t>(std::popcount(word));
    return count;
  }
  const unsigned bits = tensor.format().levels[level].crd_bits;
  with_width(bits, [&]<class T>(T) {
    for (const T coordinate : tensor.levels()[level].crd.as<T>()) count += coordinate != empty_slot(bits);
  });
  return count;
}

std::unexpected<Error> beyond_addresses(const Format& format, const Layout* layout, std::string_view name) {
  const std::string stored = layout == nullptr ? "format " + format.text() : "layout " + layout->text();
  return resource_error(fmt::format("{} in {} needs more than 2^64 bytes; choose a sparse format", name, stored));
}

Expected<void> room_for_gaps(const Format& format, std::span<const std::uint64_t> extents, const KnownAhead& known,
                             const Resources& resources, std::string_view name) {
  if (!has_gaps(format)) return {};
  const Format wide = with_widths(format, extents, known.most);
  LeastBytes bytes;
  for (std::size_t level = 0; level < wide.order(); ++level)
    bytes.add(wide.levels[level], extents[wide.mode_order[level]], known.least.empty() ? 0 : known.least[level]);
  bytes.add_values(wide.scalar);
  if (bytes.most() == saturated) return beyond_addresses(format, known.layout, name);
  const auto room = resources.memory.charge(bytes.most() - std::min(bytes.most(), known.given_back), name);
  return room ? Expected<void>{} : std::unexpected(room.error());
}

Expected<Tensor> relaid(const Tensor& tensor, const Format& format, const Resources& resources, std::string_view name) {
  return Relaying(tensor, format, resources, name).run();
}

}  // namespace weft
