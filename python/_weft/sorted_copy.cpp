#include "python/_weft/sorted_copy.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>

#include "python/_weft/parts.h"

namespace weft_python {
namespace {

template <class Element>
Array<std::byte> bytes_of(const weft_engine* engine, const Element* first, std::uint64_t count) {
  return {engine, reinterpret_cast<const std::byte*>(first), count * sizeof(Element)};
}

/// Where the fibers begin, and their end.
template <class Index>
std::vector<Index> starts_of(const CompressedView& source) {
  const auto* pos = static_cast<const Index*>(source.pos);
  if (source.arrangement != Arrangement::entries) return {pos, pos + source.fibers() + 1};
  std::vector<Index> starts(source.fibers() + 1);
  for (std::uint64_t entry = 0; entry < source.nnz; ++entry) ++starts[pos[entry] + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

/// Whether the entries of a coo are by rows, those of a row by columns, and none is there twice.
template <class Index>
bool by_rows(const Index* rows, const Index* columns, std::uint64_t count) {
  bool so = true;
  for (std::uint64_t entry = 1; entry < count && so; ++entry) {
    const Index before = rows[entry - 1], row = rows[entry];
    so = before < row || (before == row && columns[entry - 1] < columns[entry]);
  }
  return so;
}

/// Sorts the places of one fiber after the other by their coordinates, equal ones as they stood.
template <class Index, class Place>
class FiberSort {
 public:
  explicit FiberSort(const Index* crd) : crd_(crd) {}

  void operator()(Place* first, Place* last) {
    const auto length = static_cast<std::uint64_t>(last - first);
    if (length <= few) return insert(first, last);
    Index least = crd_[*first], greatest = least;
    bool sorted = true;
    for (const Place* each = first + 1; each < last; ++each) {
      const Index coordinate = crd_[*each];
      sorted = sorted && crd_[each[-1]] <= coordinate;
      least = std::min(least, coordinate);
      greatest = std::max(greatest, coordinate);
    }
    if (sorted) return;
    const std::uint64_t range = static_cast<std::uint64_t>(greatest - least) + 1;
    if (range <= most_marks && range / 256 <= length && by_marks(first, last, least, range)) return;
    if (range <= narrow && length <= narrow) return by_keys(first, last, least);
    std::stable_sort(first, last, [&](Place a, Place b) { return crd_[a] < crd_[b]; });
  }

 private:
  static constexpr std::uint64_t few = 24, most_marks = 1 << 17, narrow = std::uint64_t{1} << 32;

  /// Without memory of its own.
  void insert(Place* first, Place* last) const {
    for (Place* each = first; each < last; ++each) {
      const Place place = *each;
      Place* to = each;
      for (; to > first && crd_[place] < crd_[to[-1]]; --to) *to = to[-1];
      *to = place;
    }
  }

  /// A bit for each coordinate, and its place: read in the order of the bits. False, and nothing done, where a coordinate is there twice.
  bool by_marks(Place* first, Place* last, Index least, std::uint64_t range) {
    const std::uint64_t words = range / 64 + 1;
    if (marks_.size() < words) marks_.resize(words);
    if (places_.size() < range) places_.resize(range);
    bool once = true;
    for (const Place* each = first; each < last; ++each) {
      const auto at = static_cast<std::uint64_t>(crd_[*each] - least);
      const std::uint64_t bit = std::uint64_t{1} << (at % 64);
      once = once && (marks_[at / 64] & bit) == 0;
      marks_[at / 64] |= bit;
      places_[at] = *each;
    }
    for (std::uint64_t word = 0; word < words; ++word) {
      for (std::uint64_t bits = once ? marks_[word] : 0; bits != 0; bits &= bits - 1) {
        *first++ = places_[word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits))];
      }
      marks_[word] = 0;
    }
    return once;
  }

  /// Coordinates in the upper halves of numbers, where they stood in the lower ones.
  void by_keys(Place* first, Place* last, Index least) {
    places_.assign(first, last);
    keys_.resize(places_.size());
    for (std::uint64_t n = 0; n < keys_.size(); ++n) keys_[n] = static_cast<std::uint64_t>(crd_[places_[n]] - least) << 32 | n;
    std::ranges::sort(keys_);
    for (const std::uint64_t key : keys_) *first++ = places_[key & (narrow - 1)];
  }

  const Index* crd_;
  std::vector<std::uint64_t> marks_;  ///< 0 between two fibers
  std::vector<std::uint64_t> keys_;
  std::vector<Place> places_;
};

}  // namespace

SortedCopy::SortedCopy(const weft_engine* engine, const CompressedView& source) : shape_(source) {
  const WithoutGil released(source.nnz > many_elements);
  const bool wide = source.nnz > std::numeric_limits<std::uint32_t>::max();
  if (source.index_bits == 64) {
    wide ? sort<std::uint64_t>(engine, source, wide_) : sort<std::uint64_t>(engine, source, narrow_);
  } else {
    wide ? sort<std::uint32_t>(engine, source, wide_) : sort<std::uint32_t>(engine, source, narrow_);
  }
}

template <class Index, class Place>
void SortedCopy::sort(const weft_engine* engine, const CompressedView& source, Places<Place>& places) {
  const auto* pos = static_cast<const Index*>(source.pos);
  const auto* crd = static_cast<const Index*>(source.crd);
  source_pos_ = bytes_of(engine, pos, source.pos_count());
  source_crd_ = bytes_of(engine, crd, source.nnz);
  std::vector<Index> starts = starts_of<Index>(source);
  const bool listed = source.arrangement == Arrangement::entries;
  if (listed && by_rows(pos, crd, source.nnz)) {
    entries_ = source.nnz;
    pos_ = bytes_of(engine, starts.data(), starts.size());
    return;
  }
  Array<Place>& from = places.from = Array<Place>(source.nnz);
  if (listed) {
    std::vector<Index> next(starts.begin(), starts.end() - 1);
    for (std::uint64_t entry = 0; entry < source.nnz; ++entry) from[next[pos[entry]]++] = static_cast<Place>(entry);
  }
  crd_ = Array<std::byte>(source.nnz * sizeof(Index));
  auto* const coordinates = reinterpret_cast<Index*>(crd_.data());
  const std::uint64_t parts = parts_of(engine, source.nnz);
  std::vector<std::uint64_t> twice(parts);
  constexpr std::uint64_t failed = ~std::uint64_t{0};  // without memory: all are then sorted anew, which throws
  const auto sort_fibers = [&](std::uint64_t begin, std::uint64_t end) {
    FiberSort<Index, Place> sorted(crd);
    std::uint64_t same = 0;
    for (std::uint64_t fiber = begin; fiber < end; ++fiber) {
      const std::uint64_t first = starts[fiber], last = starts[fiber + 1];
      Place* const here = from.data() + first;
      if (!listed) std::iota(here, from.data() + last, static_cast<Place>(first));
      sorted(here, from.data() + last);
      for (std::uint64_t at = first; at < last; ++at) {
        coordinates[at] = crd[from[at]];
        same += at > first && coordinates[at] == coordinates[at - 1] ? 1 : 0;
      }
    }
    return same;
  };
  const auto first_fiber = [&](std::uint64_t part) {  // as many entries in each part
    const auto wanted = static_cast<Index>(source.nnz / parts * part);
    return part == parts ? source.fibers() : static_cast<std::uint64_t>(std::ranges::lower_bound(starts, wanted) - starts.begin());
  };
  for_parts(engine, parts, [&](std::uint64_t part) noexcept {
    try {
      twice[part] = sort_fibers(part == 0 ? 0 : first_fiber(part), first_fiber(part + 1));
    } catch (const std::bad_alloc&) {
      twice[part] = failed;
    }
  });
  if (std::ranges::count(twice, failed) > 0) twice = {sort_fibers(0, source.fibers())};
  entries_ = source.nnz - std::accumulate(twice.begin(), twice.end(), std::uint64_t{0});
  if (entries_ < source.nnz) join_equal(coordinates, starts, places);
  pos_ = bytes_of(engine, starts.data(), starts.size());
}

template <class Index, class Place>
void SortedCopy::join_equal(Index* coordinates, std::vector<Index>& starts, Places<Place>& places) {
  places.first.reserve(entries_ + 1);
  std::uint64_t begin = 0;
  for (std::uint64_t fiber = 0; fiber + 1 < starts.size(); ++fiber) {
    const std::uint64_t end = starts[fiber + 1], first = places.first.size();
    for (std::uint64_t at = begin; at < end; ++at) {
      const Index coordinate = coordinates[at];
      if (places.first.size() > first && coordinate == coordinates[places.first.size() - 1]) continue;
      coordinates[places.first.size()] = coordinate;
      places.first.push_back(static_cast<Place>(at));
    }
    starts[fiber + 1] = static_cast<Index>(places.first.size());
    begin = end;
  }
  places.first.push_back(static_cast<Place>(places.from.size()));
}

bool SortedCopy::still_of(const weft_engine* engine, const CompressedView& source) const {
  const std::size_t width = source.index_bits / 8;
  const auto same = [&](const void* now, const Array<std::byte>& before) {
    std::atomic<bool> so = true;
    for_ranges(engine, before.size(), [&](std::uint64_t begin, std::uint64_t end) {
      if (so && std::memcmp(static_cast<const std::byte*>(now) + begin, before.data() + begin, end - begin) != 0) so = false;
    });
    return so.load();
  };
  return source.index_bits == shape_.index_bits && source.scalar == shape_.scalar && source.rows == shape_.rows &&
         source.columns == shape_.columns && source.nnz == shape_.nnz && source.arrangement == shape_.arrangement &&
         source.block_rows == shape_.block_rows && source.block_columns == shape_.block_columns &&
         source.pos_count() * width == source_pos_.size() && same(source.pos, source_pos_) && same(source.crd, source_crd_);
}

template <class Value, class Place>
void SortedCopy::gather_as(const weft_engine* engine, const CompressedView& source, const Places<Place>& places, std::byte* to) const {
  const auto* from = static_cast<const Value*>(source.values);
  auto* values = reinterpret_cast<Value*>(to);
  const std::uint64_t size = shape_.block_size();
  const bool once = places.first.empty();
  for_ranges(engine, entries_, [&](std::uint64_t begin, std::uint64_t end) {
    if (once && size == 1) {
      for (std::uint64_t entry = begin; entry < end; ++entry) values[entry] = from[places.from[entry]];
      return;
    }
    if (size == 1) {
      for (std::uint64_t entry = begin; entry < end; ++entry) {
        Value sum = from[places.from[places.first[entry]]];
        for (std::uint64_t more = places.first[entry] + 1; more < places.first[entry + 1]; ++more) sum += from[places.from[more]];
        values[entry] = sum;
      }
      return;
    }
    for (std::uint64_t entry = begin; entry < end; ++entry) {
      const std::uint64_t first = once ? entry : places.first[entry], last = once ? entry + 1 : places.first[entry + 1];
      Value* const block = values + entry * size;
      std::copy_n(from + places.from[first] * size, size, block);
      for (std::uint64_t more = first + 1; more < last; ++more) {
        const Value* const other = from + places.from[more] * size;
        for (std::uint64_t n = 0; n < size; ++n) block[n] += other[n];
      }
    }
  });
}

const void* SortedCopy::values(const weft_engine* engine, const CompressedView& source, Array<std::byte>& room) const {
  if (in_order()) return source.values;
  const WithoutGil released(source.stored() > many_elements);
  const std::uint64_t bytes = entries_ * shape_.block_size() * shape_.value_bytes();
  if (room.size() != bytes) room = Array<std::byte>(bytes);
  const auto gather = [&](const auto& places) {
    if (source.scalar == WEFT_F64) {
      gather_as<double>(engine, source, places, room.data());
    } else {
      gather_as<float>(engine, source, places, room.data());
    }
  };
  wide_.from.empty() ? gather(narrow_) : gather(wide_);
  return room.data();
}

CompressedView SortedCopy::view(const void* values) const {
  CompressedView view = shape_;
  if (view.arrangement == Arrangement::entries) view.arrangement = Arrangement::rows;
  view.pos = pos_.data();
  view.crd = in_order() ? source_crd_.data() : crd_.data();
  view.values = values;
  view.nnz = view.crd_count = entries_;
  view.value_count = view.stored();
  return view;
}

}  // namespace weft_python
