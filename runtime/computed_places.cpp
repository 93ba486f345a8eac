#include "runtime/computed_places.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/blocks.h"
#include "runtime/extents.h"
#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/scalar_traits.h"
#include "runtime/sort.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

/// The compressed level, or the order of the format.
std::size_t compressed_level(const Format& levels) {
  return static_cast<std::size_t>(std::ranges::find_if(levels.levels, [](const Level& level) { return !is_dense(level.kind); }) -
                                  levels.levels.begin());
}

/// Coordinates of some levels as one number.
class LevelNumbers {
 public:
  LevelNumbers(const Coordinates& entries, std::size_t begin, std::size_t end) : entries_(&entries), begin_(begin), end_(end) {
    for (std::size_t l = begin; l < end; ++l) count_ = saturating_product(count_, entries.extents[l]);
  }
  std::uint64_t count() const { return count_; }
  /// Of the entries from `first` on.
  void of(std::uint64_t first, std::span<std::uint64_t> numbers) const {
    std::ranges::fill(numbers, std::uint64_t{0});
    for (std::size_t l = begin_; l < end_; ++l)
      with_width(coordinate_bits(entries_->extents[l]), [&]<class T>(T) {
        const T* const crd = entries_->crd[l].template as<const T>().data() + first;
        const std::uint64_t extent = entries_->extents[l];
        for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = numbers[n] * extent + crd[n];
      });
  }

 private:
  const Coordinates* entries_;
  std::size_t begin_;
  std::size_t end_;
  std::uint64_t count_ = 1;
};

/// LevelNumbers of entries read one after the other, a tile of them at a time.
class NumberReader {
 public:
  NumberReader(const LevelNumbers& numbers, std::uint64_t end) : numbers_(numbers), end_(end), tile_(1024) {}
  std::uint64_t operator[](std::uint64_t entry) {
    if (entry - first_ >= read_) read_from(entry);  // one before the first is far above as well
    return tile_[entry - first_];
  }

 private:
  void read_from(std::uint64_t entry) {
    first_ = entry;
    read_ = std::min<std::uint64_t>(tile_.size(), end_ - entry);
    numbers_.of(first_, std::span(tile_).first(read_));
  }

  const LevelNumbers& numbers_;
  std::uint64_t end_;
  std::vector<std::uint64_t> tile_;
  std::uint64_t first_ = 0;
  std::uint64_t read_ = 0;
};

class ComputedPlaces {
 public:
  ComputedPlaces(const Coordinates& entries, const Format& levels, LevelOrder order, const Resources& resources, std::string_view name)
      : entries_(entries),
        order_(order),
        resources_(resources),
        name_(name),
        at_(compressed_level(levels)),
        is_all_dense_(at_ == levels.order()),
        parents_(entries, 0, at_),
        below_(entries, is_all_dense_ ? at_ : at_ + 1, levels.order()),
        blocks_(entries.count, resources.threads) {
    made_.format = levels;
    made_.extents = entries.extents;
    made_.levels.resize(levels.order());
  }

  Expected<std::optional<Tensor>> run() {
    if (is_all_dense_) return all_dense();
    const std::uint64_t most = 4 * entries_.count;  // in bytes what sorting takes for its words
    const std::uint64_t keys = entries_.extents[at_];
    if (entries_.count >= std::uint64_t{1} << 31) return std::nullopt;
    if (saturating_product(parents_.count(), keys) <= most) return marked();
    std::vector<std::uint32_t> above(at_);
    std::iota(above.begin(), above.end(), 0U);
    if (saturating_product(keys, blocks_.number) > most || parents_.count() > most || !ordered_by(entries_, above, resources_))
      return std::nullopt;
    return parent_by_parent();
  }

 private:
  Expected<Buffer> allocate(std::uint64_t count, std::uint64_t bytes) const {
    return Buffer::allocate(saturating_product(count, bytes), resources_.memory, name_);
  }

  /// Stores the values of a block of entries: f(entry) is the position that the levels below begin at.
  template <class F>
  void store(Buffer& values, std::uint64_t begin, std::uint64_t end, NumberReader& below, F&& f) const {
    with_element(entries_.scalar, [&]<class From>(From) {
      with_element(made_.format.scalar, [&]<class To>(To) {
        const auto from = entries_.values.as<const From>();
        const auto to = values.as<To>();
        for (std::uint64_t e = begin; e < end; ++e) to[f(e) * below_.count() + below[e]] = static_cast<To>(from[e]);
      });
    });
  }

  Expected<std::optional<Tensor>> all_dense() {
    auto values = allocate(parents_.count(), scalar_bytes(made_.format.scalar));
    if (!values) return std::unexpected(values.error());
    for_blocks(resources_.threads, blocks_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      NumberReader place(parents_, end);
      NumberReader below(below_, end);
      store(*values, begin, end, below, [&](std::uint64_t e) { return place[e]; });
    });
    made_.values = std::move(*values);
    return made(std::move(made_));
  }

  /// Lengths, and one more, to where each begins; their sum.
  static std::uint64_t begins_of(std::span<std::uint64_t> lengths) {
    std::uint64_t total = 0;
    for (std::uint64_t& each : lengths) total += std::exchange(each, total);
    return total;
  }

  /// Arrays of `total` coordinates, and of all their values.
  Expected<void> allocate_below(std::uint64_t total) {
    Level& level = made_.format.levels[at_];
    widen(level.pos_bits, position_bits(total));
    widen(level.crd_bits, coordinate_bits(entries_.extents[at_]));
    auto pos = allocate(parents_.count() + 1, level.pos_bits / 8);
    if (!pos) return std::unexpected(pos.error());
    auto crd = allocate(total, level.crd_bits / 8);
    if (!crd) return std::unexpected(crd.error());
    auto values = allocate(saturating_product(total, below_.count()), scalar_bytes(made_.format.scalar));
    if (!values) return std::unexpected(values.error());
    made_.levels[at_].pos = std::move(*pos);
    made_.levels[at_].crd = std::move(*crd);
    made_.values = std::move(*values);
    return {};
  }
  template <class F>
  void with_arrays(F&& f) {
    const Level& level = made_.format.levels[at_];
    with_width(level.pos_bits, [&]<class P>(P) {
      with_width(level.crd_bits, [&]<class C>(C) { f(made_.levels[at_].pos.as<P>(), made_.levels[at_].crd.as<C>()); });
    });
  }

  /// Few parents: what there is below each is marked in one table, then numbered there.
  Expected<std::optional<Tensor>> marked() {
    const LevelNumbers codes(entries_, 0, at_ + 1);
    const std::uint64_t keys = entries_.extents[at_];
    auto buffer = allocate(codes.count(), sizeof(std::uint32_t));
    if (!buffer) return std::unexpected(buffer.error());
    auto lengths = allocate(parents_.count() + 1, sizeof(std::uint64_t));
    if (!lengths) return std::unexpected(lengths.error());
    const auto table = buffer->as<std::uint32_t>();  // from 1 on, below the parent
    const auto begin_of = lengths->as<std::uint64_t>();
    if (order_ == LevelOrder::unordered) {
      NumberReader code(codes, entries_.count);
      NumberReader parent(parents_, entries_.count);
      for (std::uint64_t e = 0; e < entries_.count; ++e)
        if (std::uint32_t& number = table[code[e]]; number == 0) number = static_cast<std::uint32_t>(++begin_of[parent[e]]);
    } else {
      for_blocks(resources_.threads, blocks_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        NumberReader code(codes, end);
        for (std::uint64_t e = begin; e < end; ++e) {
          const std::atomic_ref<std::uint32_t> mark(table[code[e]]);
          if (mark.load(std::memory_order_relaxed) == 0) mark.store(1, std::memory_order_relaxed);
        }
      });
      for (std::uint64_t parent = 0; parent < parents_.count(); ++parent)
        for (std::uint64_t n = 0; n < keys; ++n) {
          std::uint32_t& number = table[parent * keys + (order_ == LevelOrder::descending ? keys - 1 - n : n)];
          if (number != 0) number = static_cast<std::uint32_t>(++begin_of[parent]);
        }
    }
    if (auto done = allocate_below(begins_of(begin_of)); !done) return std::unexpected(done.error());
    with_arrays([&]<class P, class C>(std::span<P> pos, std::span<C> crd) {
      std::ranges::transform(begin_of, pos.begin(), [](std::uint64_t each) { return static_cast<P>(each); });
      for (std::uint64_t parent = 0; parent < parents_.count(); ++parent)
        for (std::uint64_t key = 0; key < keys; ++key) {
          std::uint32_t& number = table[parent * keys + key];
          if (number == 0) continue;
          number += static_cast<std::uint32_t>(begin_of[parent]);
          crd[number - 1] = static_cast<C>(key);
        }
    });
    for_blocks(resources_.threads, blocks_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      NumberReader code(codes, end);
      NumberReader below(below_, end);
      store(made_.values, begin, end, below, [&](std::uint64_t e) { return table[code[e]] - 1; });
    });
    return made(std::move(made_));
  }

  /// What there is below one parent after the other, numbered in a table of the level's coordinates.
  class OneParent {
   public:
    OneParent(std::span<std::uint32_t> table, LevelOrder order) : table_(table), order_(order) {}
    void add(std::uint64_t key) {
      if (std::exchange(table_[key], 1U) == 0) found_.push_back(key);
    }
    std::span<const std::uint64_t> numbered() {
      if (order_ == LevelOrder::ascending) std::ranges::sort(found_);
      if (order_ == LevelOrder::descending) std::ranges::sort(found_, std::greater<>());
      for (std::uint32_t n = 0; n < found_.size(); ++n) table_[found_[n]] = n;
      return found_;
    }
    std::uint32_t number(std::uint64_t key) const { return table_[key]; }
    std::uint64_t size() const { return found_.size(); }
    void clear() {
      for (const std::uint64_t key : found_) table_[key] = 0;
      found_.clear();
    }

   private:
    std::span<std::uint32_t> table_;
    LevelOrder order_;
    std::vector<std::uint64_t> found_;
  };

  Expected<std::optional<Tensor>> parent_by_parent() {
    const std::uint64_t keys = entries_.extents[at_];
    auto tables = allocate(saturating_product(keys, blocks_.number), sizeof(std::uint32_t));
    if (!tables) return std::unexpected(tables.error());
    auto lengths = allocate(parents_.count() + 1, sizeof(std::uint64_t));
    if (!lengths) return std::unexpected(lengths.error());
    const auto begin_of = lengths->as<std::uint64_t>();
    const LevelNumbers key_numbers(entries_, at_, at_ + 1);
    // Blocks begin and end between parents. Calls f(parent, first entry, end, what there is below, its keys, places below these).
    const auto for_parents = [&](auto&& f) {
      for_blocks(resources_.threads, blocks_, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t block) {
        NumberReader parent(parents_, entries_.count);
        NumberReader key(key_numbers, entries_.count);
        NumberReader places(below_, entries_.count);
        OneParent below(tables->as<std::uint32_t>().subspan(block * keys, keys), order_);
        if (begin > 0)
          for (const std::uint64_t before = parent[begin - 1]; begin < end && parent[begin] == before;) ++begin;
        for (std::uint64_t first = begin; first < end;) {
          const std::uint64_t here = parent[first];
          std::uint64_t behind = first;
          for (; behind < entries_.count && parent[behind] == here; ++behind) below.add(key[behind]);
          f(here, first, behind, below, key, places);
          below.clear();
          first = behind;
        }
      });
    };
    for_parents([&](std::uint64_t parent, std::uint64_t, std::uint64_t, const OneParent& below, NumberReader&, NumberReader&) {
      begin_of[parent] = below.size();
    });
    if (auto done = allocate_below(begins_of(begin_of)); !done) return std::unexpected(done.error());
    with_arrays([&]<class P, class C>(std::span<P> pos, std::span<C> crd) {
      std::ranges::transform(begin_of, pos.begin(), [](std::uint64_t each) { return static_cast<P>(each); });
      for_parents([&](std::uint64_t parent, std::uint64_t first, std::uint64_t behind, OneParent& below, NumberReader& key,
                      NumberReader& places) {
        const std::uint64_t position = begin_of[parent];
        std::ranges::transform(below.numbered(), crd.begin() + static_cast<std::ptrdiff_t>(position),
                               [](std::uint64_t each) { return static_cast<C>(each); });
        store(made_.values, first, behind, places, [&](std::uint64_t e) { return position + below.number(key[e]); });
      });
    });
    return made(std::move(made_));
  }

  const Coordinates& entries_;
  LevelOrder order_;
  const Resources& resources_;
  std::string_view name_;
  std::size_t at_;  ///< the compressed level
  bool is_all_dense_;
  LevelNumbers parents_;  ///< the levels above
  LevelNumbers below_;
  Blocks blocks_;
  TensorArrays made_;
};

}  // namespace

bool have_computed_places(const Format& levels) {
  const auto is_other = [](const Level& level) { return !is_dense(level.kind); };
  const auto listed = std::ranges::find_if(levels.levels, is_other);
  if (listed == levels.levels.end()) return true;
  const bool is_known = is_compressed(listed->kind) || has_gaps(listed->kind);
  return is_known && !has_lengths(listed->kind) && std::ranges::none_of(listed + 1, levels.levels.end(), is_other);
}

Expected<std::optional<Tensor>> in_computed_places(const Coordinates& entries, const Format& levels, LevelOrder order,
                                                   const Resources& resources, std::string_view name) {
  return ComputedPlaces(entries, levels, order, resources, name).run();
}

}  // namespace weft
