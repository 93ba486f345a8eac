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
  source_pos_ = bytes_of(pos, source.fibers() + 1);
  source_crd_ = bytes_of(crd, source.nnz);
  from_.resize(source.nnz);
  std::iota(from_.begin(), from_.end(), std::uint64_t{0});
  std::vector<Index> starts{0}, coordinates;
  coordinates.reserve(source.nnz);
  first_.reserve(source.nnz + 1);
  for (std::uint64_t fiber = 0; fiber < source.fibers(); ++fiber) {
    const auto begin = static_cast<std::ptrdiff_t>(pos[fiber]), end = static_cast<std::ptrdiff_t>(pos[fiber + 1]);
    std::stable_sort(from_.begin() + begin, from_.begin() + end,
                     [&](std::uint64_t a, std::uint64_t b) { return crd[a] < crd[b]; });
    for (std::ptrdiff_t at = begin; at < end; ++at) {
      const Index coordinate = crd[from_[static_cast<std::size_t>(at)]];
      if (at > begin && coordinate == coordinates.back()) continue;
      coordinates.push_back(coordinate);
      first_.push_back(static_cast<std::uint64_t>(at));
    }
    starts.push_back(static_cast<Index>(coordinates.size()));
  }
  first_.push_back(source.nnz);
  entries_ = coordinates.size();
  pos_ = bytes_of(starts.data(), starts.size());
  crd_ = bytes_of(coordinates.data(), coordinates.size());
}

bool SortedCopy::still_of(const CompressedView& source) const {
  const std::size_t width = source.index_bits / 8;
  return source.index_bits == shape_.index_bits && source.scalar == shape_.scalar && source.rows == shape_.rows &&
         source.columns == shape_.columns && source.nnz == shape_.nnz && source.arrangement == shape_.arrangement &&
         source.block_rows == shape_.block_rows && source.block_columns == shape_.block_columns &&
         std::memcmp(source.pos, source_pos_.data(), (source.fibers() + 1) * width) == 0 &&
         (source.nnz == 0 || std::memcmp(source.crd, source_crd_.data(), source.nnz * width) == 0);
}

template <class Value>
void SortedCopy::gather_as(const CompressedView& source, std::byte* to) const {
  const auto* from = static_cast<const Value*>(source.values);
  auto* values = reinterpret_cast<Value*>(to);
  const std::uint64_t size = shape_.block_size();
  for (std::size_t entry = 0; entry < entries_; ++entry, values += size) {
    std::copy_n(from + from_[first_[entry]] * size, size, values);
    for (std::uint64_t more = first_[entry] + 1; more < first_[entry + 1]; ++more) {
      const Value* const block = from + from_[more] * size;
      for (std::uint64_t n = 0; n < size; ++n) values[n] += block[n];
    }
  }
}

void SortedCopy::gather(const CompressedView& source, std::byte* to) const {
  const WithoutGil released(source.stored() > many_elements);
  if (source.scalar == WEFT_F64) {
    gather_as<double>(source, to);
  } else {
    gather_as<float>(source, to);
  }
}

CompressedView SortedCopy::view(const std::byte* values) const {
  CompressedView view = shape_;
  view.pos = pos_.data();
  view.crd = crd_.data();
  view.values = values;
  view.nnz = view.crd_count = entries_;
  view.value_count = view.stored();
  return view;
}

}  // namespace weft_python
