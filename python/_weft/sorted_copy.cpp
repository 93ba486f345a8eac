#include "python/_weft/sorted_copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace weft_python {
namespace {

template <class Element>
std::vector<std::byte> bytes_of(const Element* first, std::uint64_t count) {
  const auto* bytes = reinterpret_cast<const std::byte*>(first);
  return {bytes, bytes + count * sizeof(Element)};
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

/// Rows of few entries, as most are, by insertion: std::stable_sort allocates for each.
template <class Index>
void sort_fiber(std::uint64_t* first, std::uint64_t* last, const Index* crd) {
  const auto before = [&](std::uint64_t a, std::uint64_t b) { return crd[a] < crd[b]; };
  if (last - first > 32) {
    if (!std::is_sorted(first, last, before)) std::stable_sort(first, last, before);
    return;
  }
  for (std::uint64_t* each = first; each < last; ++each) {
    const std::uint64_t place = *each;
    std::uint64_t* to = each;
    for (; to > first && before(place, to[-1]); --to) *to = to[-1];
    *to = place;
  }
}

}  // namespace

SortedCopy::SortedCopy(const CompressedView& source) : shape_(source) {
  const WithoutGil released(source.nnz > many_elements);
  if (source.index_bits == 64) {
    sort<std::uint64_t>(source);
  } else {
    sort<std::uint32_t>(source);
  }
}

template <class Index>
void SortedCopy::sort(const CompressedView& source) {
  const auto* pos = static_cast<const Index*>(source.pos);
  const auto* crd = static_cast<const Index*>(source.crd);
  source_pos_ = bytes_of(pos, source.pos_count());
  source_crd_ = bytes_of(crd, source.nnz);
  std::vector<Index> starts = starts_of<Index>(source);
  const bool listed = source.arrangement == Arrangement::entries;
  if (listed && by_rows(pos, crd, source.nnz)) {
    entries_ = source.nnz;
    pos_ = bytes_of(starts.data(), starts.size());
    return;
  }
  from_.resize(source.nnz);
  if (listed) {
    std::vector<Index> next(starts.begin(), starts.end() - 1);
    for (std::uint64_t entry = 0; entry < source.nnz; ++entry) from_[next[pos[entry]]++] = entry;
  } else {
    std::iota(from_.begin(), from_.end(), std::uint64_t{0});
  }
  std::vector<Index> coordinates(source.nnz);
  first_.resize(source.nnz + 1);
  std::uint64_t begin = 0;
  for (std::uint64_t fiber = 0; fiber < source.fibers(); ++fiber) {
    const std::uint64_t end = starts[fiber + 1], first = entries_;
    sort_fiber(from_.data() + begin, from_.data() + end, crd);
    for (std::uint64_t at = begin; at < end; ++at) {
      const Index coordinate = crd[from_[at]];
      if (entries_ > first && coordinate == coordinates[entries_ - 1]) continue;
      coordinates[entries_] = coordinate;
      first_[entries_++] = at;
    }
    starts[fiber + 1] = static_cast<Index>(entries_);
    begin = end;
  }
  first_.resize(entries_ + 1);
  first_[entries_] = source.nnz;
  pos_ = bytes_of(starts.data(), starts.size());
  crd_ = bytes_of(coordinates.data(), entries_);
}

bool SortedCopy::still_of(const CompressedView& source) const {
  const std::size_t width = source.index_bits / 8;
  return source.index_bits == shape_.index_bits && source.scalar == shape_.scalar && source.rows == shape_.rows &&
         source.columns == shape_.columns && source.nnz == shape_.nnz && source.arrangement == shape_.arrangement &&
         source.block_rows == shape_.block_rows && source.block_columns == shape_.block_columns &&
         (source_pos_.empty() || std::memcmp(source.pos, source_pos_.data(), source.pos_count() * width) == 0) &&
         (source.nnz == 0 || std::memcmp(source.crd, source_crd_.data(), source.nnz * width) == 0);
}

template <class Value>
void SortedCopy::gather_as(const CompressedView& source, std::byte* to) const {
  const auto* from = static_cast<const Value*>(source.values);
  auto* values = reinterpret_cast<Value*>(to);
  const std::uint64_t size = shape_.block_size();
  if (size == 1) {
    for (std::size_t entry = 0; entry < entries_; ++entry) {
      Value sum = from[from_[first_[entry]]];
      for (std::uint64_t more = first_[entry] + 1; more < first_[entry + 1]; ++more) sum += from[from_[more]];
      values[entry] = sum;
    }
    return;
  }
  for (std::size_t entry = 0; entry < entries_; ++entry, values += size) {
    std::copy_n(from + from_[first_[entry]] * size, size, values);
    for (std::uint64_t more = first_[entry] + 1; more < first_[entry + 1]; ++more) {
      const Value* const block = from + from_[more] * size;
      for (std::uint64_t n = 0; n < size; ++n) values[n] += block[n];
    }
  }
}

const void* SortedCopy::values(const CompressedView& source, std::vector<std::byte>& room) const {
  if (in_order()) return source.values;
  const WithoutGil released(source.stored() > many_elements);
  room.resize(entries_ * shape_.block_size() * shape_.value_bytes());
  if (source.scalar == WEFT_F64) {
    gather_as<double>(source, room.data());
  } else {
    gather_as<float>(source, room.data());
  }
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
