#include "runtime/distinct.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "runtime/ancestors.h"
#include "runtime/blocks.h"
#include "runtime/entries.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/position_tile.h"
#include "runtime/sketch.h"
#include "runtime/tensor_facts.h"

namespace weft {

namespace {

/// First and last level of the nonunique chain a level belongs to; just the level elsewhere.
struct Chain {
  std::size_t first;
  std::size_t last;
};
Chain chain_of(const Format& format, std::size_t level) {
  std::size_t first = level;
  while (first > 0 && is_per_parent(format.levels[first].kind)) --first;
  if (!begins_chain(format.levels[first].kind)) return {level, level};
  std::size_t last = first;
  while (last + 1 < format.order() && is_per_parent(format.levels[last + 1].kind)) ++last;
  return {first, last};
}

std::uint64_t sum(const std::vector<std::uint64_t>& parts) {
  std::uint64_t total = 0;
  for (std::uint64_t part : parts) total += part;
  return total;
}

}  // namespace

std::uint64_t distinct_prefix(const Tensor& tensor, std::size_t level, const Threads& threads) {
  const Format& format = tensor.format();
  const std::uint64_t positions = tensor.positions(level);
  const Blocks blocks(positions, threads);
  std::vector<std::uint64_t> counts(blocks.number, 0);
  if (is_dense(format.levels[level].kind)) {
    const Leaves leaves(tensor);
    for_blocks(threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
      for (std::uint64_t p = begin; p < end; ++p) counts[block] += leaves.begin(level, p) < leaves.begin(level, p + 1);
    });
    return sum(counts);
  }
  const Chain chain = chain_of(format, level);
  if (level == chain.last) return positions;
  const Tensor cut = cut_below(tensor, level);
  for_blocks(threads, blocks, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
    Ancestors walk(cut);
    std::vector<std::uint64_t> before(level + 1);
    auto look = [&](std::uint64_t p) {  // the parent's position stands for the levels above the chain
      walk.move_to(p);
      bool same = true;
      for (std::size_t l = chain.first > 0 ? chain.first - 1 : 0; l <= level; ++l) {
        std::uint64_t now = l < chain.first ? walk.ancestor(l) : walk.coordinate(l);
        same = same && now == before[l];
        before[l] = now;
      }
      return same;
    };
    if (begin > 0) look(begin - 1);
    for (std::uint64_t p = begin; p < end; ++p) counts[block] += !look(p) || p == 0;
  });
  return sum(counts);
}

namespace {

constexpr std::uint64_t bitmap_limit = std::uint64_t{1} << 24;
/// Of all bitmaps and sketches of one pass, which no account is charged for: sets of six modes may have twenty bitmaps.
constexpr std::uint64_t pass_bytes = std::uint64_t{8} << 20;

/// One set of levels being counted in a pass.
struct Counter {
  ModeSet levels = 0;
  std::size_t last = 0;  ///< the level whose positions are looked at
  bool exact = false;
  std::uint64_t bitmap_bytes = 0;
  Buffer bits;                     ///< exact: one bit per coordinate tuple, shared by all threads
  std::unique_ptr<Sketch> sketch;  ///< else; shared too, because a sketch per thread is memory that grows with them

  /// Takes the memory for its pass. Without any for a bitmap of a few megabytes the sketch still answers.
  void begin() {
    if (exact) {
      if (auto fresh = Buffer::allocate(bitmap_bytes, Memory{}, "counting distinct coordinates")) bits = std::move(*fresh);
      exact = bits.size_bytes() > 0;
    }
    if (!exact) sketch = std::make_unique<Sketch>();
  }
  DistinctCount end() {
    if (!exact) return {std::exchange(sketch, nullptr)->estimate(), false};
    std::uint64_t ones = 0;
    for (std::uint64_t word : bits.as<std::uint64_t>()) ones += static_cast<unsigned>(std::popcount(word));
    bits = {};
    return {static_cast<double>(ones), true};
  }
};

/// Added to coordinates before they are mixed, so that those of different levels have different hashes.
std::uint64_t level_seed(std::size_t level) { return (level + 1) * 0x9E3779B97F4A7C15; }

using Column = PositionTile::Column<std::uint64_t>;

void set_bit(std::span<std::uint64_t> bits, std::uint64_t index) {
  std::atomic_ref<std::uint64_t> word(bits[index / 64]);
  const std::uint64_t bit = std::uint64_t{1} << (index % 64);
  // Most tuples have been seen: a load is far cheaper than a locked operation.
  if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit, std::memory_order_relaxed);
}

/// What the counters of a pass whose sets end in one level look at: of every position of that level within a tile the
/// coordinates, and their hashes, of the levels above and its own.
class Columns {
 public:
  Columns(std::size_t last, std::span<const Counter> counters) {
    for (const Counter& counter : counters) {
      if (counter.last == last) (counter.exact ? counted_ : hashed_) |= counter.levels;
    }
    if ((counted_ | hashed_) == 0) return;
    spread_ = std::make_unique_for_overwrite<Column[]>(2 * last);
    coordinates_.resize(last + 1);
    hashes_.resize(last + 1);
  }

  /// `hashes` by level and position of the tile.
  void fill(const PositionTile& tile, const Column* hashes) {
    const std::size_t last = coordinates_.size() - 1;
    length_ = tile.level(last).length;
    coordinates_[last] = tile.level(last).coordinates.data();
    hashes_[last] = hashes[last].data();
    const PositionTile::Column<std::uint16_t>* places = &tile.level(last).parents;
    for (std::size_t l = last; l-- > 0;) {
      if (l + 1 < last) {
        for (std::size_t n = 0; n < length_; ++n) places_[n] = tile.level(l + 1).parents[(*places)[n]];
        places = &places_;
      }
      if (counted_ >> l & 1) coordinates_[l] = spread(tile.level(l).coordinates, *places, spread_[2 * l]);
      if (hashed_ >> l & 1) hashes_[l] = spread(hashes[l], *places, spread_[2 * l + 1]);
    }
  }

  void add_to(Counter& counter, unsigned least, const Tensor& tensor) const {
    if (!counter.exact) {  // sums of hashes are mixed again: on grids they are far from independent
      std::array<const std::uint64_t*, 64> columns;
      std::size_t number = 0;
      for (std::size_t l = 0; l < hashes_.size(); ++l)
        if (counter.levels >> l & 1) columns[number++] = hashes_[l];
      counter.sketch->add_mixed_sums(std::span(columns).first(number), length_, least);
      return;
    }
    Column combined;
    const std::uint64_t* tuples = nullptr;
    for (std::size_t l = 0; l < coordinates_.size(); ++l) {
      if (!(counter.levels >> l & 1)) continue;
      const std::uint64_t* const column = coordinates_[l];
      const std::uint64_t extent = tensor.extent_of_level(l);
      if (tuples != nullptr)
        for (std::size_t n = 0; n < length_; ++n) combined[n] = tuples[n] * extent + column[n];
      tuples = tuples == nullptr ? column : combined.data();
    }
    auto bits = counter.bits.as<std::uint64_t>();
    for (std::size_t n = 0; n < length_; ++n) set_bit(bits, tuples[n]);
  }

  ModeSet hashed_levels() const { return hashed_; }

 private:
  const std::uint64_t* spread(const Column& nodes, const PositionTile::Column<std::uint16_t>& places, Column& to) const {
    for (std::size_t n = 0; n < length_; ++n) to[n] = nodes[places[n]];
    return to.data();
  }

  ModeSet counted_ = 0, hashed_ = 0;  // levels of which coordinates, or hashes, are asked for
  std::unique_ptr<Column[]> spread_;  // of the levels above the last, those two; not cleared
  std::vector<const std::uint64_t*> coordinates_, hashes_;
  PositionTile::Column<std::uint16_t> places_;  // in the level being looked at, by position of the last
  std::size_t length_ = 0;
};

/// All sets of a pass, each at the positions of the level in which it ends. Those that begin in one tile and go on in the next are
/// looked at twice, which changes neither bitmaps nor sketches.
void count_block(const Tensor& tensor, std::span<Counter> counters, std::uint64_t begin, std::uint64_t end) {
  const std::size_t last = counters.back().last;
  PositionTile tile(tensor, last);
  std::vector<Columns> columns;
  ModeSet hashed_levels = 0;
  for (std::size_t l = 0; l <= last; ++l) {
    columns.emplace_back(l, counters);
    hashed_levels |= columns.back().hashed_levels();
  }
  const auto hashes = std::make_unique_for_overwrite<Column[]>(last + 1);
  std::vector<unsigned> least(counters.size(), 0);
  for (std::uint64_t number = 1; begin < end; begin += PositionTile::most, ++number) {
    tile.move_to(begin, static_cast<std::size_t>(std::min<std::uint64_t>(PositionTile::most, end - begin)));
    for (std::size_t l = 0; l <= last; ++l) {
      if (!(hashed_levels >> l & 1)) continue;
      const PositionTile::Level& level = tile.level(l);
      mix(std::span(level.coordinates).first(level.length), level_seed(l), hashes[l].data());
    }
    std::size_t filled = last + 1;
    for (std::size_t n = 0; n < counters.size(); ++n) {
      Counter& counter = counters[n];
      if (counter.last != filled) columns[filled = counter.last].fill(tile, hashes.get());
      columns[filled].add_to(counter, least[n], tensor);
      // Registers rise by one while what was added doubles.
      if (!counter.exact && std::has_single_bit(number)) least[n] = counter.sketch->least();
    }
  }
}

/// Counters in the order of the levels in which they end.
void count_pass(const Tensor& tensor, std::span<Counter> counters, const Threads& threads,
                std::map<ModeSet, DistinctCount>& results) {
  for (Counter& counter : counters) counter.begin();
  for_blocks(threads, Blocks(tensor.positions(counters.back().last), threads),
             [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) { count_block(tensor, counters, begin, end); });
  for (Counter& counter : counters) results[counter.levels] = counter.end();
}

}  // namespace

std::map<ModeSet, DistinctCount> distinct_counts(const Tensor& tensor, const std::vector<ModeSet>& level_sets,
                                                 const Threads& threads) {
  std::map<ModeSet, DistinctCount> results;
  std::vector<Counter> counters;
  for (ModeSet levels : level_sets) {
    // Positions of a dense level may be empty; those of the next sparse level below are not.
    auto last = static_cast<std::size_t>(std::bit_width(levels)) - 1;
    while (is_dense(tensor.format().levels[last].kind)) ++last;
    std::uint64_t product = 1;
    for (std::size_t l = 0; l <= last; ++l)
      if (levels >> l & 1) product = saturating_product(product, tensor.extent_of_level(l));
    Counter counter;
    counter.levels = levels;
    counter.last = last;
    counter.exact = product <= bitmap_limit;
    if (counter.exact) counter.bitmap_bytes = (product + 63) / 64 * 8;
    counters.push_back(std::move(counter));
  }
  std::ranges::sort(counters, {}, [](const Counter& counter) { return std::pair(counter.last, counter.levels); });
  for (std::span<Counter> left = counters; !left.empty();) {
    std::size_t together = 0;
    for (std::uint64_t bytes = 0; together < left.size() && (together == 0 || bytes < pass_bytes); ++together)
      bytes += left[together].exact ? left[together].bitmap_bytes : sizeof(Sketch);
    count_pass(tensor, left.first(together), threads, results);
    left = left.subspan(together);
  }
  return results;
}

void make_consistent(std::vector<double>& values, const std::vector<bool>& exact,
                     const std::vector<std::uint64_t>& extents) {
  const auto sets = static_cast<ModeSet>(values.size());
  auto extent = [&](std::size_t m) { return static_cast<double>(extents[m]); };
  // What the exact supersets allow.
  std::vector<double> low(sets, 0);
  std::vector<double> high(sets, std::numeric_limits<double>::infinity());
  for (ModeSet s = sets; s-- > 0;) {
    for (std::size_t m = 0; m < extents.size(); ++m) {
      if (s >> m & 1) continue;
      const ModeSet larger = s | ModeSet{1} << m;
      low[s] = std::max(low[s], low[larger] / extent(m));
      high[s] = std::min(high[s], high[larger]);
    }
    if (exact[s]) low[s] = high[s] = values[s];
  }
  for (ModeSet s = 1; s < sets; ++s) {  // every subset of s is smaller than s
    if (exact[s]) continue;
    double least = low[s];
    double most = high[s];
    for (std::size_t m = 0; m < extents.size(); ++m) {
      if (!(s >> m & 1)) continue;
      const ModeSet smaller = s & ~(ModeSet{1} << m);
      least = std::max(least, values[smaller]);
      most = std::min(most, values[smaller] * extent(m));
    }
    values[s] = std::max(least, std::min(most, values[s]));
  }
}

}  // namespace weft
