// From sorted entries to the arrays of the levels.
//
// diff[e] is the first level at which entry e differs from the entry before (0 for the first entry, the order for a
// duplicate). A prefix of levels 0..l is new at e exactly if diff[e] <= l, so the positions of a level are counted by
// counting small values of diff, block by block, and every level is then filled in parallel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/blocks.h"
#include "runtime/build.h"
#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

/// Levels that get their positions together: one dense or variable, one compressed, a nonunique one with its singletons, or
/// one singleton below a level whose positions it shares.
struct Unit {
  std::size_t first = 0;
  std::size_t last = 0;
  LevelKind kind = LevelKind::dense;
};

std::vector<Unit> units_of(const Format& format) {
  std::vector<Unit> units;
  for (std::size_t l = 0; l < format.order(); ++l) {
    Unit unit{l, l, format.levels[l].kind};
    if (begins_chain(unit.kind))
      while (unit.last + 1 < format.order() && is_per_parent(format.levels[unit.last + 1].kind)) ++unit.last;
    l = unit.last;
    units.push_back(unit);
  }
  return units;
}

/// A level that is not counted: its position follows from that above. Dense: position * extent + coordinate; variable:
/// pos[position] + coordinate; a singleton: the same.
struct Following {
  std::size_t level = 0;
  LevelKind kind = LevelKind::dense;
  Indices pos;
};

/// How the position of an entry in a unit follows from the entry: a count of new prefixes, then levels that follow.
struct Ancestry {
  bool counted = false;     ///< false: no compressed unit so far, the base is the root's one position
  std::size_t counted_last = 0;  ///< last level of the unit whose positions are counted
  std::vector<Following> below;
  bool is_root = true;
  std::size_t last = 0;  ///< last level covered; the position is new at e if diff[e] <= last (at e = 0 for the root)
  std::uint64_t positions = 1;
  /// Every entry whose prefix is new has a position of its own, and there are no others.
  bool only_counted() const {
    return counted && std::ranges::all_of(below, [](const Following& level) { return is_per_parent(level.kind); });
  }
};

class Assembly {
 public:
  Assembly(SortedEntries entries, Format format, std::vector<std::uint64_t> extents, const Resources& resources,
           std::string_view name)
      : entries_(std::move(entries)),
        resources_(resources),
        name_(name),
        order_(format.order()),
        blocks_(entries_.count, resources.threads) {
    tensor_.format = std::move(format);
    tensor_.extents = std::move(extents);
    tensor_.levels.resize(order_);
    for (std::size_t l = 0; l < order_; ++l)
      crd_.emplace_back(entries_.crd[l], coordinate_bits(entries_.extents[l]));
  }

  Expected<Tensor> run(std::uint64_t* distinct) {
    if (auto done = compare_neighbours(); !done) return std::unexpected(done.error());
    if (distinct != nullptr) *distinct = order_ == 0 ? 1 : new_prefixes(order_ - 1);
    Ancestry above;
    for (const Unit& unit : units_of(tensor_.format)) {
      if (resources_.cancellation.cancelled())
        return fail(ErrorKind::cancelled, fmt::format("cancelled while building {}", name_));
      Expected<void> done;
      switch (unit.kind) {
        case LevelKind::dense: done = add_dense(unit, above); break;
        case LevelKind::variable: done = add_variable(unit, above); break;
        case LevelKind::singleton: done = add_singleton(unit, above); break;
        case LevelKind::compressed:
        case LevelKind::compressed_nonunique: done = add_compressed(unit, above); break;
        case LevelKind::hashed:
        case LevelKind::bitmap:
        case LevelKind::accumulator: done = internal_error("a level with gaps is made from a compressed one"); break;
      }
      if (!done) return std::unexpected(done.error());
    }
    if (auto done = add_values(above); !done) return std::unexpected(done.error());
    return made(std::move(tensor_));
  }

 private:
  Expected<Buffer> allocate(std::uint64_t elements, std::uint64_t element_bytes) const {
    std::uint64_t bytes = saturating_product(elements, element_bytes);
    if (bytes == saturated)
      return beyond_addresses(tensor_.format, entries_.layout, name_);
    return Buffer::allocate(bytes, resources_.memory, name_);
  }

  Expected<void> compare_neighbours() {
    auto diff = Buffer::allocate(entries_.count, resources_.memory, fmt::format("building {}", name_));
    if (!diff) return std::unexpected(diff.error());
    diff_buffer_ = std::move(*diff);
    auto out = diff_buffer_.as<std::uint8_t>();
    diff_ = out;
    counts_.assign(blocks_.number + 1, std::vector<std::uint64_t>(order_ + 1, 0));
    const auto same = static_cast<std::uint8_t>(order_);
    for_blocks(resources_.threads, blocks_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      constexpr std::uint64_t tile = 4096;
      for (std::uint64_t from = begin; from < end; from += tile) {
        std::uint64_t to = std::min(end, from + tile);
        std::fill(out.begin() + static_cast<std::ptrdiff_t>(from), out.begin() + static_cast<std::ptrdiff_t>(to), same);
        for (std::size_t l = order_; l-- > 0;)
          with_width(coordinate_bits(entries_.extents[l]), [&]<class T>(T) {
            const T* crd = entries_.crd[l].as<T>().data();
            const auto level = static_cast<std::uint8_t>(l);
            for (std::uint64_t e = std::max<std::uint64_t>(from, 1); e < to; ++e)
              out[e] = crd[e] != crd[e - 1] ? level : out[e];
          });
        if (from == 0) out[0] = 0;
        for (std::size_t d = 0; d <= order_; ++d) counts_[block][d] += count_equal(out.subspan(from, to - from), d);
      }
    });
    // From counts per block and value to running counts of "diff <= level" before each block.
    std::vector<std::uint64_t> total(order_ + 1, 0);
    for (auto& count : counts_) {
      for (std::size_t d = 0; d < order_; ++d) count[d + 1] += count[d];
      for (std::size_t d = 0; d <= order_; ++d) total[d] += std::exchange(count[d], total[d]);
    }
    return {};
  }

  /// Counted in bytes, a vector of them at a time, for few enough that none overflows.
  static std::uint64_t count_equal(std::span<const std::uint8_t> diff, std::size_t level) {
    constexpr std::size_t few = 128;
    const auto value = static_cast<std::uint8_t>(level);
    std::uint64_t count = 0;
    for (; !diff.empty(); diff = diff.subspan(std::min(few, diff.size()))) {
      std::uint8_t equal = 0;
      for (const std::uint8_t each : diff.first(std::min(few, diff.size()))) equal = static_cast<std::uint8_t>(equal + (each == value));
      count += equal;
    }
    return count;
  }

  std::uint64_t new_prefixes(std::size_t last) const { return counts_.back()[last]; }

  /// Calls f(entry, position) for every entry of the block at which the position is new.
  template <class F>
  void for_new_positions(const Ancestry& at, std::uint64_t block, F&& f) const {
    if (at.is_root) {
      if (block == 0) f(0, 0);
      return;
    }
    std::uint64_t counted = at.counted ? counts_[block][at.counted_last] : 0;
    for (std::uint64_t e = blocks_.begin(block); e < blocks_.end(block); ++e) {
      if (at.counted && diff_[e] <= at.counted_last) ++counted;
      if (diff_[e] > at.last) continue;
      f(e, position(at, counted, e));
    }
  }

  std::uint64_t position(const Ancestry& at, std::uint64_t counted, std::uint64_t entry) const {
    std::uint64_t result = at.counted ? counted - 1 : 0;
    for (const Following& each : at.below) {
      if (is_per_parent(each.kind)) continue;
      result = (is_dense(each.kind) ? result * entries_.extents[each.level] : each.pos[result]) + crd_[each.level][entry];
    }
    return result;
  }

  /// Calls f(position, coordinates of the levels up to at.last) for every position, with or without entries, in their order.
  template <class F>
  void for_all_positions(const Ancestry& at, F&& f) const {
    std::vector<std::uint64_t> coordinates(at.is_root ? 0 : at.last + 1);
    const auto follow = [&](auto&& self, std::size_t step, std::uint64_t position) -> void {
      if (step == at.below.size()) return f(position, std::span<const std::uint64_t>(coordinates));
      const Following& each = at.below[step];
      std::uint64_t& coordinate = coordinates[each.level];
      if (is_per_parent(each.kind)) {
        coordinate = Indices(tensor_.levels[each.level].crd, tensor_.format.levels[each.level].crd_bits)[position];
        return self(self, step + 1, position);
      }
      const bool dense = is_dense(each.kind);
      const std::uint64_t first = dense ? position * entries_.extents[each.level] : each.pos[position];
      const std::uint64_t length = dense ? entries_.extents[each.level] : each.pos[position + 1] - first;
      for (coordinate = 0; coordinate < length; ++coordinate) self(self, step + 1, first + coordinate);
    };
    if (!at.counted) return follow(follow, 0, 0);
    std::uint64_t counted = 0;
    for (std::uint64_t e = 0; e < entries_.count; ++e) {
      if (diff_[e] > at.counted_last) continue;
      for (std::size_t l = 0; l <= at.counted_last; ++l) coordinates[l] = crd_[l][e];
      follow(follow, 0, counted++);
    }
  }

  /// One more than the position of the last entry before the block; 0 before the first.
  std::uint64_t next_position(const Ancestry& at, std::uint64_t block) const {
    std::uint64_t begin = blocks_.begin(block);
    if (begin == 0) return 0;
    return position(at, at.counted ? counts_[block][at.counted_last] : 0, begin - 1) + 1;
  }

  Expected<void> add_dense(const Unit& unit, Ancestry& above) const {
    above.positions = saturating_product(above.positions, entries_.extents[unit.first]);
    above.below.push_back({unit.first, LevelKind::dense, {}});
    above.is_root = false;
    above.last = unit.last;
    return {};
  }

  /// A fiber is as long as its rule says, or reaches to its last entry.
  Expected<void> add_variable(const Unit& unit, Ancestry& above) {
    const std::size_t l = unit.first;
    auto ends = allocate(saturating_sum(above.positions, 1), sizeof(std::uint64_t));
    if (!ends) return std::unexpected(ends.error());
    const auto end = ends->as<std::uint64_t>();
    if (l < entries_.lengths.size() && entries_.lengths[l]) {
      for_all_positions(above, [&](std::uint64_t position, std::span<const std::uint64_t> coordinates) {
        end[position + 1] = entries_.lengths[l](coordinates);
      });
    } else {
      std::uint64_t counted = 0;
      for (std::uint64_t e = 0; e < entries_.count; ++e) {
        counted += above.counted && diff_[e] <= above.counted_last;
        std::uint64_t& length = end[position(above, counted, e) + 1];
        length = std::max(length, crd_[l][e] + 1);
      }
    }
    std::uint64_t total = 0;
    for (std::uint64_t& each : end) each = total = saturating_sum(total, each);
    Level& level = tensor_.format.levels[l];
    widen(level.pos_bits, position_bits(total));
    if (level.pos_bits == 32) {
      auto narrow = allocate(end.size(), sizeof(std::uint32_t));
      if (!narrow) return std::unexpected(narrow.error());
      std::ranges::transform(end, narrow->as<std::uint32_t>().begin(), [](std::uint64_t each) { return static_cast<std::uint32_t>(each); });
      ends = std::move(narrow);
    }
    tensor_.levels[l].pos = std::move(*ends);
    above.below.push_back({l, LevelKind::variable, Indices(tensor_.levels[l].pos, level.pos_bits)});
    above.positions = total;
    above.is_root = false;
    above.last = unit.last;
    return {};
  }

  Expected<void> add_compressed(const Unit& unit, Ancestry& above) {
    if (above.positions == saturated) {
      auto refused = allocate(saturated, 8);
      return std::unexpected(refused.error());
    }
    const std::uint64_t total = new_prefixes(unit.last);
    Level& level = tensor_.format.levels[unit.first];
    widen(level.pos_bits, position_bits(total));
    auto pos_buffer = allocate(above.positions + 1, level.pos_bits / 8);
    if (!pos_buffer) return std::unexpected(pos_buffer.error());
    with_width(level.pos_bits, [&]<class P>(P) {
      auto pos = pos_buffer->as<P>();
      for_blocks(resources_.threads, blocks_, [&](std::uint64_t begin, std::uint64_t, std::uint64_t block) {
        // pos[p] is where the fiber of p begins: written at its first entry, and for every empty fiber before it.
        std::uint64_t children = counts_[block][unit.last];
        if (above.counted && above.below.empty()) {
          // No fiber is empty: each entry writes where the next one would begin, without a branch to guess wrong.
          std::uint64_t next = counts_[block][above.last];
          const std::uint64_t behind = counts_[block + 1][above.last];
          for (std::uint64_t e = begin; next < behind; ++e) {
            pos[next] = static_cast<P>(children);
            next += diff_[e] <= above.last;
            children += diff_[e] <= unit.last;
          }
          return;
        }
        std::uint64_t next = next_position(above, block);
        std::uint64_t seen = blocks_.begin(block);
        for_new_positions(above, block, [&](std::uint64_t e, std::uint64_t parent) {
          for (; seen < e; ++seen) children += diff_[seen] <= unit.last;
          for (; next <= parent; ++next) pos[next] = static_cast<P>(children);
        });
      });
      std::uint64_t next = blocks_.number ? next_position(above, blocks_.number) : 0;
      for (; next <= above.positions; ++next) pos[next] = static_cast<P>(total);
    });
    tensor_.levels[unit.first].pos = std::move(*pos_buffer);
    for (std::size_t l = unit.first; l <= unit.last; ++l)
      if (auto done = add_crd(l, unit.last, total); !done) return done;
    above = Ancestry{.counted = true,
                     .counted_last = unit.last,
                     .below = {},
                     .is_root = false,
                     .last = unit.last,
                     .positions = total};
    return {};
  }

  /// The coordinates of level l at every entry whose prefix through level `last` is new.
  Expected<void> add_crd(std::size_t l, std::size_t last, std::uint64_t total) {
    Level& level = tensor_.format.levels[l];
    const unsigned given_bits = coordinate_bits(entries_.extents[l]);
    if (given_bits == 64) level.crd_bits = 64;
    if (total == entries_.count && given_bits == level.crd_bits &&
        entries_.crd[l].size_bytes() == total * (given_bits / 8)) {
      tensor_.levels[l].crd = entries_.crd[l];  // every entry is a position: the array is already there
      return {};
    }
    auto buffer = allocate(total, level.crd_bits / 8);
    if (!buffer) return std::unexpected(buffer.error());
    with_width(given_bits, [&]<class G>(G) {
      with_width(level.crd_bits, [&]<class T>(T) {
        auto given = entries_.crd[l].as<G>();
        auto crd = buffer->as<T>();
        for_blocks(resources_.threads, blocks_, [&](std::uint64_t begin, std::uint64_t, std::uint64_t block) {
          const std::uint64_t behind = counts_[block + 1][last];
          for (std::uint64_t e = begin, next = counts_[block][last]; next < behind; ++e) {
            crd[next] = static_cast<T>(given[e]);
            next += diff_[e] <= last;  // else the next entry writes there
          }
        });
      });
    });
    tensor_.levels[l].crd = std::move(*buffer);
    return {};
  }

  /// Parents without an entry have the coordinate 0.
  Expected<void> add_starts(const Unit& unit, Ancestry& above) {
    Level& level = tensor_.format.levels[unit.first];
    widen(level.crd_bits, coordinate_bits(entries_.extents[unit.first]));
    auto buffer = allocate(above.positions, level.crd_bits / 8);
    if (!buffer) return std::unexpected(buffer.error());
    with_width(level.crd_bits, [&]<class T>(T) {
      const auto crd = buffer->as<T>();
      for_blocks(resources_.threads, blocks_, [&](std::uint64_t, std::uint64_t, std::uint64_t block) {
        for_new_positions(above, block, [&](std::uint64_t e, std::uint64_t parent) { crd[parent] = static_cast<T>(crd_[unit.first][e]); });
      });
    });
    tensor_.levels[unit.first].crd = std::move(*buffer);
    above.below.push_back({unit.first, LevelKind::singleton, {}});
    above.is_root = false;
    above.last = unit.last;
    return {};
  }

  /// A singleton shares its parent's positions, so every parent position needs exactly one child.
  Expected<void> add_singleton(const Unit& unit, Ancestry& above) {
    if (std::ranges::find(entries_.starts, unit.first) != entries_.starts.end()) return add_starts(unit, above);
    struct Defect {
      std::uint64_t position = saturated;
      const char* what = "";
    };
    std::vector<Defect> defects(blocks_.number);
    for_blocks(resources_.threads, blocks_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      std::uint64_t next = next_position(above, block);
      for_new_positions(above, block, [&](std::uint64_t, std::uint64_t parent) {
        if (parent != next && defects[block].position == saturated) defects[block] = {next, "none"};
        next = parent + 1;
      });
      for (std::uint64_t e = begin; e < end && defects[block].position == saturated; ++e)
        if (diff_[e] == unit.first) defects[block] = {next_position_at(above, block, e), "more than one"};
    });
    std::uint64_t end = blocks_.number ? next_position(above, blocks_.number) : 0;
    if (end != above.positions) defects.push_back({end, "none"});
    for (const Defect& defect : defects)
      if (defect.position != saturated)
        return input_error(fmt::format("{} does not fit format {}: level {} is a singleton (q), which needs exactly one "
                                       "entry per position above, but position {} has {}",
                                       name_, tensor_.format.text(), unit.first, defect.position, defect.what));
    if (auto done = add_crd(unit.first, unit.last, above.positions); !done) return done;
    above.below.push_back({unit.first, LevelKind::singleton, {}});
    above.last = unit.last;
    return {};
  }

  /// Position of entry e of the block, for messages.
  std::uint64_t next_position_at(const Ancestry& at, std::uint64_t block, std::uint64_t entry) const {
    std::uint64_t counted = at.counted ? counts_[block][at.counted_last] : 0;
    for (std::uint64_t e = blocks_.begin(block); at.counted && e <= entry; ++e) counted += diff_[e] <= at.counted_last;
    return position(at, counted, entry);
  }

  Expected<void> add_values(const Ancestry& at) {
    const Scalar scalar = tensor_.format.scalar;
    const bool every_entry = at.only_counted() && new_prefixes(order_ - 1) == entries_.count;
    if (every_entry && scalar == entries_.scalar &&
        entries_.values.size_bytes() == entries_.count * scalar_bytes(scalar)) {
      tensor_.values = std::move(entries_.values);
      return {};
    }
    auto values = allocate(at.positions, scalar_bytes(scalar));
    if (!values) return std::unexpected(values.error());
    auto fill = [&]<class G, class T>(std::span<const G> given, std::span<T> stored) {
      for_blocks(resources_.threads, blocks_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
        std::uint64_t counted = at.counted ? counts_[block][at.counted_last] : 0;
        for (std::uint64_t e = begin; e < end; ++e) {
          if (at.counted && diff_[e] <= at.counted_last) ++counted;
          if (e > 0 && diff_[e] == order_) continue;  // summed by the block in which the run of duplicates begins
          double sum = static_cast<double>(given[e]);  // rounded once, after the last duplicate
          for (std::uint64_t d = e + 1; d < entries_.count && diff_[d] == order_; ++d)
            sum += static_cast<double>(given[d]);
          if (sum == 0 && !std::signbit(sum)) continue;  // of an unused slot, maybe, above a fiber that bounds leave empty
          stored[position(at, counted, e)] = static_cast<T>(sum);
        }
      });
    };
    const Buffer& given = entries_.values;
    with_element(entries_.scalar, [&]<class From>(From) {
      with_element(scalar, [&]<class To>(To) { fill(given.as<From>(), values->as<To>()); });
    });
    tensor_.values = std::move(*values);
    return {};
  }

  SortedEntries entries_;
  const Resources& resources_;
  std::string_view name_;
  std::size_t order_;
  Blocks blocks_;
  std::vector<Indices> crd_;  ///< by level, of entries_
  Buffer diff_buffer_;
  std::span<const std::uint8_t> diff_;
  std::vector<std::vector<std::uint64_t>> counts_;  ///< [block][level]: entries before the block with diff <= level
  TensorArrays tensor_;
};

}  // namespace

Expected<Tensor> assemble(SortedEntries entries, Format format, std::vector<std::uint64_t> extents,
                          const Resources& resources, std::string_view name, std::uint64_t* distinct) {
  return Assembly(std::move(entries), std::move(format), std::move(extents), resources, name).run(distinct);
}

}  // namespace weft
