// Positions of the result are counted by level, then written, by blocks of the first level of the tensor; runs that are whole
// below are copied at once.
#include "runtime/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/blocks.h"
#include "runtime/entries.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

using Counts = std::vector<std::uint64_t>;  // by level

struct Side {
  LevelKind kind = LevelKind::dense;
  std::uint64_t extent = 0, lowest = 0, highest = 0, step = 1, count = 0;
  bool whole = false, kept = true;
  Indices pos, crd;

  bool has(std::uint64_t coordinate) const {
    return coordinate >= lowest && coordinate <= highest && (step == 1 || (coordinate - lowest) % step == 0);
  }
  std::uint64_t place(std::uint64_t coordinate) const { return step == 1 ? coordinate - lowest : (coordinate - lowest) / step; }
  std::uint64_t coordinate(std::uint64_t parent, std::uint64_t position) const {
    return is_dense(kind) ? position - parent * extent : crd[position];
  }
};

/// Where a thread is: the coordinates above, which of them no position of the result has yet, and the next positions.
struct Path {
  Counts places, next;
  std::size_t fresh = 0;  ///< levels from here on
};

class Section {
 public:
  Section(const Tensor& tensor, std::span<const SectionMode> modes, const Resources& resources, std::string_view name)
      : tensor_(tensor), resources_(resources), name_(name), order_(tensor.order()), sides_(order_) {
    for (std::size_t level = 0; level < order_; ++level) {
      const Level& stored = tensor.format().levels[level];
      const SectionMode& mode = modes[tensor.format().mode_order[level]];
      Side& side = sides_[level];
      side = {stored.kind, tensor.extent_of_level(level), mode.lowest, mode.lowest, mode.step, mode.count, false, mode.kept, {}, {}};
      if (side.count > 1) side.highest = side.lowest + (side.count - 1) * side.step;
      if (side.count < 2) side.step = 1;
      side.whole = side.count == side.extent;
      if (is_sparse(side.kind)) side.crd = Indices(tensor.levels()[level].crd, stored.crd_bits);
      if (has_pos(side.kind)) side.pos = Indices(tensor.levels()[level].pos, stored.pos_bits);
      if (!side.kept) continue;
      last_kept_ = level;
      first_kept_ = std::min(first_kept_, level);
    }
    at_once_ = order_ - 1;
    while (at_once_ > 0 && whole_below(at_once_)) --at_once_;
  }

  Expected<Tensor> run() {
    std::uint64_t first = 0, behind = 0;
    if (std::ranges::all_of(sides_, [](const Side& side) { return side.count > 0; })) std::tie(first, behind) = children(0, 0);
    const Leaves leaves(tensor_);
    const std::uint64_t below = leaves.begin(0, behind) - leaves.begin(0, first) + 1;
    const Blocks blocks(behind - first, resources_.threads, saturating_product(behind - first, 1 << 14) / below + 1);
    std::vector<Counts> starts(blocks.number + 1, Counts(order_));
    each_block(blocks, first, [&](std::uint64_t begin, std::uint64_t end, Path& path, std::uint64_t block) {
      visit<false>(0, 0, begin, end, path);
      starts[block + 1] = path.next;
    });
    for (std::size_t block = 1; block < starts.size(); ++block)
      for (std::size_t level = 0; level < order_; ++level) starts[block][level] += starts[block - 1][level];
    if (auto done = allocate(starts.back()); !done) return std::unexpected(done.error());
    each_block(blocks, first, [&](std::uint64_t begin, std::uint64_t end, Path& path, std::uint64_t block) {
      path.next = starts[block];
      visit<true>(0, 0, begin, end, path);
    });
    if (cancelled_) return fail(ErrorKind::cancelled, fmt::format("cancelled while cutting {}", name_));
    return made(std::move(result_));
  }

 private:
  struct Target {
    void *crd = nullptr, *pos = nullptr;
    unsigned crd_bits = 32, pos_bits = 32;
  };

  /// Whether all below the positions of the level above is copied as it stands.
  bool whole_below(std::size_t level) const {
    const Side& side = sides_[level];
    const Side& over = sides_[level - 1];
    return side.whole && side.kept && is_compressed(side.kind) && over.kept && is_compressed(over.kind) && over.step == 1;
  }

  template <class Body>
  void each_block(const Blocks& blocks, std::uint64_t first, const Body& body) {
    const Side& side = sides_[0];
    const auto aligned = [&](std::uint64_t position) {  // no coordinate stands in two blocks
      while (begins_chain(side.kind) && position > first && position < first + blocks.count && side.crd[position] == side.crd[position - 1])
        ++position;
      return position;
    };
    for_blocks(resources_.threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      if (resources_.cancellation.cancelled()) cancelled_ = true;
      if (cancelled_) return;
      Path path{Counts(order_), Counts(order_)};
      body(aligned(first + begin), aligned(first + end), path, block);
    });
  }

  Expected<void> allocate(const Counts& positions) {
    std::vector<std::uint32_t> number(order_);
    for (std::size_t level = 0; level < order_; ++level)
      if (sides_[level].kept) number[tensor_.format().mode_order[level]] = 1;
    std::uint32_t modes = 0;
    for (std::uint32_t& each : number) each = std::exchange(modes, modes + each);
    result_.format.scalar = tensor_.format().scalar;
    result_.extents.resize(modes);
    targets_.resize(order_);
    std::uint64_t parents = 1;
    for (std::size_t level = 0; level < order_; ++level) {
      if (!sides_[level].kept) continue;
      const std::uint32_t mode = number[tensor_.format().mode_order[level]];
      Level stored{.kind = LevelKind::compressed};
      widen(stored.crd_bits, coordinate_bits(sides_[level].count));
      widen(stored.pos_bits, position_bits(positions[level]));
      auto pos = Buffer::allocate(saturating_product(parents + 1, stored.pos_bits / 8), resources_.memory, name_);
      if (!pos) return std::unexpected(pos.error());
      auto crd = Buffer::allocate(saturating_product(positions[level], stored.crd_bits / 8), resources_.memory, name_);
      if (!crd) return std::unexpected(crd.error());
      with_width(stored.pos_bits, [&]<class T>(T) { pos->as<T>()[0] = 0; });
      if (level == first_kept_) with_width(stored.pos_bits, [&]<class T>(T) { pos->as<T>()[1] = static_cast<T>(positions[level]); });
      targets_[level] = {crd->data(), pos->data(), stored.crd_bits, stored.pos_bits};
      result_.format.levels.push_back(stored);
      result_.format.mode_order.push_back(mode);
      result_.extents[mode] = sides_[level].count;
      result_.levels.push_back({.pos = std::move(*pos), .crd = std::move(*crd)});
      parents = positions[level];
    }
    auto values = Buffer::allocate(saturating_product(parents, scalar_bytes(result_.format.scalar)), resources_.memory, name_);
    if (!values) return std::unexpected(values.error());
    result_.values = std::move(*values);
    values_ = result_.values.data();
    return {};
  }

  /// Positions of a level below one above, from the least to the greatest that is chosen; some between may not be.
  std::pair<std::uint64_t, std::uint64_t> children(std::size_t level, std::uint64_t parent) const {
    const Side& side = sides_[level];
    if (is_dense(side.kind)) return {parent * side.extent + side.lowest, parent * side.extent + side.highest + 1};
    if (is_per_parent(side.kind)) return {parent, parent + (side.whole || side.has(side.crd[parent]) ? 1 : 0)};
    std::uint64_t begin = side.pos[parent], end = side.pos[parent + 1];
    if (side.whole) return {begin, end};
    begin = lower_bound(side.crd, begin, end, side.lowest);
    const std::uint64_t most = side.highest - side.lowest + 1;
    if (is_unique(side.kind) && most < end - begin) end = begin + most;
    if (side.highest + 1 < side.extent) end = lower_bound(side.crd, begin, end, side.highest + 1);
    return {begin, end};
  }

  static std::uint64_t lower_bound(const Indices& crd, std::uint64_t begin, std::uint64_t end, std::uint64_t wanted) {
    while (end - begin > 8) {
      const std::uint64_t middle = begin + (end - begin) / 2;
      (crd[middle] < wanted ? begin : end) = middle;
    }
    while (begin < end && crd[begin] < wanted) ++begin;
    return begin;
  }

  /// Counts, or writes, the chosen ones of the positions [begin, end) of a level below `parent`.
  template <bool writes>
  void visit(std::size_t level, std::uint64_t parent, std::uint64_t begin, std::uint64_t end, Path& path) const {
    const Side& side = sides_[level];
    if (begin == end) return;
    if (level >= at_once_ && side.step == 1) return run_of<writes>(level, parent, begin, end, path);
    std::uint64_t distance = 1;
    if (is_dense(side.kind) && side.step != 1) {
      distance = side.step;
      const std::uint64_t over = (begin - parent * side.extent - side.lowest) % distance;
      if (over != 0) begin += distance - over;
    }
    for (std::uint64_t position = begin; position < end; position += distance) {
      const std::uint64_t coordinate = side.coordinate(parent, position);
      if (!side.has(coordinate)) continue;
      if (level + 1 == order_) {
        run_of<writes>(level, parent, position, position + 1, path);
        continue;
      }
      if (side.kept) {
        const std::uint64_t place = side.place(coordinate);
        if (place != path.places[level]) path.fresh = std::min(path.fresh, level);
        path.places[level] = place;
      }
      const auto [first, behind] = children(level + 1, position);
      visit<writes>(level + 1, position, first, behind, path);
    }
  }

  /// Positions side by side, all of them, with all below.
  template <bool writes>
  void run_of(std::size_t level, std::uint64_t parent, std::uint64_t begin, std::uint64_t end, Path& path) const {
    for (std::size_t above = path.fresh; above < level; ++above) {
      if (!sides_[above].kept) continue;
      if constexpr (writes) put(above, path.places[above], path.next[above]);
      ++path.next[above];
      if constexpr (writes) end_parent(above, path);
    }
    path.fresh = order_;
    for (; level < order_; ++level) {
      const std::uint64_t length = end - begin;
      if (!sides_[level].kept) break;  // the last level, of one coordinate
      if constexpr (writes) copy_coordinates(level, parent, begin, length, path.next[level]);
      const std::uint64_t before = path.next[level];
      path.next[level] += length;
      if constexpr (writes) end_parent(level, path);
      if (level + 1 == order_) break;
      const Indices& pos = sides_[level + 1].pos;
      const std::uint64_t first = pos[begin], behind = pos[end];
      if constexpr (writes) copy_ends(level + 1, begin, length, before, path.next[level + 1]);
      begin = first;
      end = behind;
    }
    if constexpr (writes) {
      const std::uint64_t length = end - begin;
      with_width(scalar_bytes(result_.format.scalar) * 8, [&]<class T>(T) {  // moved as bits, whatever the scalar is
        std::copy_n(tensor_.values().as<const T>().data() + begin, length, static_cast<T*>(values_) + (path.next[last_kept_] - length));
      });
    }
  }

  void put(std::size_t level, std::uint64_t place, std::uint64_t position) const {
    with_width(targets_[level].crd_bits, [&]<class T>(T) { static_cast<T*>(targets_[level].crd)[position] = static_cast<T>(place); });
  }

  /// The last position of the kept level above ends where the next one of `level` begins.
  void end_parent(std::size_t level, const Path& path) const {
    if (level == first_kept_) return;
    const std::size_t above = kept_above(level);
    with_width(targets_[level].pos_bits, [&]<class T>(T) {
      static_cast<T*>(targets_[level].pos)[path.next[above]] = static_cast<T>(path.next[level]);
    });
  }
  std::size_t kept_above(std::size_t level) const {
    do --level;
    while (!sides_[level].kept);
    return level;
  }

  void copy_coordinates(std::size_t level, std::uint64_t parent, std::uint64_t begin, std::uint64_t length, std::uint64_t to) const {
    const Side& side = sides_[level];
    with_width(targets_[level].crd_bits, [&]<class T>(T) {
      T* const places = static_cast<T*>(targets_[level].crd) + to;
      if (is_dense(side.kind)) {
        const std::uint64_t first = side.place(begin - parent * side.extent);
        for (std::uint64_t n = 0; n < length; ++n) places[n] = static_cast<T>(first + n);
        return;
      }
      with_width(tensor_.format().levels[level].crd_bits, [&]<class S>(S) {
        const S* const crd = tensor_.levels()[level].crd.template as<const S>().data() + begin;
        if (side.step != 1) {
          for (std::uint64_t n = 0; n < length; ++n) places[n] = static_cast<T>(side.place(crd[n]));
        } else {
          for (std::uint64_t n = 0; n < length; ++n) places[n] = static_cast<T>(crd[n] - side.lowest);
        }
      });
    });
  }

  /// Ends of fibers of a level that is copied as it stands, below `length` positions above.
  void copy_ends(std::size_t level, std::uint64_t begin, std::uint64_t length, std::uint64_t above, std::uint64_t next) const {
    const Indices& pos = sides_[level].pos;
    const std::uint64_t moved = next - pos[begin];  // wraps, as it must
    with_width(targets_[level].pos_bits, [&]<class T>(T) {
      T* const ends = static_cast<T*>(targets_[level].pos) + above + 1;
      for (std::uint64_t n = 0; n < length; ++n) ends[n] = static_cast<T>(pos[begin + 1 + n] + moved);
    });
  }

  const Tensor& tensor_;
  const Resources& resources_;
  std::string_view name_;
  std::size_t order_;
  std::vector<Side> sides_;
  std::size_t first_kept_ = ~std::size_t{0}, last_kept_ = 0;
  std::size_t at_once_ = 0;  ///< a run of positions from this level on is copied with all below
  TensorArrays result_;
  std::vector<Target> targets_;  ///< by level of the tensor
  void* values_ = nullptr;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace

Expected<Tensor> section(const Tensor& tensor, std::span<const SectionMode> modes, const Resources& resources, std::string_view name) {
  if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
  return Section(tensor, modes, resources, name).run();
}

}  // namespace weft
