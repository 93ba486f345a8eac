// What a kernel appends to: one chunk's arrays.
#include "runtime/appended.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/extents.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

constexpr std::uint64_t first_entries = 512;
constexpr std::uint64_t most_first_bytes = 1 << 20;  // of their values: blocks of 2^27 elements are added one by one
constexpr std::uint64_t unbounded = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::size_t AppendedShape::last_compressed() const {
  std::size_t last = format.order();
  while (last > 0 && is_dense(format.levels[last - 1].kind)) --last;
  return last - 1;
}

std::uint64_t AppendedShape::block_bytes() const {
  std::uint64_t bytes = scalar_bytes(format.scalar);
  for (std::size_t level = last_compressed() + 1; level < format.order(); ++level)
    bytes = saturating_product(bytes, extent_of_level(level));
  return bytes;
}

AppendedChunk::AppendedChunk(const AppendedShape& shape, std::uint64_t rows, const Memory& memory)
    : shape_(&shape), rows_(rows), memory_(memory), levels_(shape.format.order()), arrays_(shape.format.order()) {}

std::uint64_t AppendedChunk::parents(std::size_t level) const {
  std::uint64_t count = 1;
  for (std::size_t above = 0; above < level; ++above) {
    if (is_dense(shape_->format.levels[above].kind))
      count = saturating_product(count, above == 0 ? rows_ : shape_->extent_of_level(above));
    else
      count = levels_[above].size;
  }
  return count;
}

Expected<AppendedOutput> AppendedChunk::open() {
  AppendedOutput output;
  output.levels = levels_.data();
  output.owner = this;
  bool counted = true;  // parents are known before anything is appended
  const std::uint64_t block = std::max<std::uint64_t>(shape_->block_bytes(), 1);
  const std::uint64_t blocks = std::clamp<std::uint64_t>(most_first_bytes / block, 1, first_entries);
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (is_dense(shape_->format.levels[level].kind)) continue;
    levels_[level].closed = 0;
    levels_[level].size = 0;
    const Place& place = arrays_[level].place;
    const std::uint64_t entries = place.data != nullptr ? place.entries : level == shape_->last_compressed() ? blocks : first_entries;
    if (grow(output, level, counted ? parents(level) : first_entries, entries) != KernelStatus::done)
      return std::unexpected(*refused_);
    levels_[level].pos[0] = 0;
    counted = false;
  }
  return output;
}

void AppendedChunk::close() {
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (is_dense(shape_->format.levels[level].kind)) continue;
    const AppendedLevel& filled = levels_[level];
    arrays_[level].pos.trim((filled.closed + 1) * sizeof(std::uint64_t));
    arrays_[level].crd.trim(filled.size * (shape_->format.levels[level].crd_bits / 8));
    if (level == shape_->last_compressed()) values_.trim(filled.size * shape_->block_bytes());
  }
}

void AppendedChunk::place_in(const Tensor& tensor, const std::vector<std::uint64_t>& before,
                             const std::vector<std::uint64_t>& count) {
  placed_ = count;
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    if (is_dense(shape_->format.levels[level].kind)) continue;
    const std::uint64_t crd_bytes = shape_->format.levels[level].crd_bits / 8;
    arrays_[level].place = {Buffer(tensor.levels()[level].crd).as<std::byte>().data() + before[level] * crd_bytes, count[level]};
    if (level == shape_->last_compressed())
      values_place_ = {tensor.writable_values<std::byte>().data() + before[level] * shape_->block_bytes(), count[level]};
  }
}

bool AppendedChunk::reserve(GrowingBuffer& buffer, std::uint64_t bytes) {
  auto reserved = buffer.reserve(bytes, memory_, shape_->name);
  if (!reserved) refused_ = std::move(reserved.error());
  return reserved.has_value();
}

bool AppendedChunk::reserve_entries(GrowingBuffer& buffer, Place& place, std::uint64_t used, std::uint64_t entries,
                                    std::uint64_t bytes, void*& data, std::uint64_t& capacity) {
  if (place.data != nullptr && entries <= place.entries) {
    data = place.data;
    capacity = place.entries;
    return true;
  }
  if (!reserve(buffer, saturating_product(entries, bytes))) return false;
  if (place.data != nullptr) {
    if (used > 0) std::memcpy(buffer.data(), place.data, used * bytes);
    place = {};
  }
  data = buffer.data();
  capacity = bytes > 0 ? buffer.capacity() / bytes : unbounded;
  return true;
}

KernelStatus AppendedChunk::grow(AppendedOutput& output, std::uint64_t level, std::uint64_t parents,
                                 std::uint64_t entries) {
  AppendedLevel& filled = levels_[level];
  Arrays& arrays = arrays_[level];
  const std::uint64_t ends = parents == unbounded ? parents : parents + 1;
  if (!reserve(arrays.pos, saturating_product(ends, sizeof(std::uint64_t)))) return KernelStatus::limit;
  filled.pos = static_cast<std::uint64_t*>(arrays.pos.data());
  filled.pos_capacity = arrays.pos.capacity() / sizeof(std::uint64_t) - 1;
  if (!reserve_entries(arrays.crd, arrays.place, filled.size, entries, shape_->format.levels[level].crd_bits / 8,
                       filled.crd, filled.crd_capacity))
    return KernelStatus::limit;
  if (level == shape_->last_compressed()) {
    void* values = nullptr;
    if (!reserve_entries(values_, values_place_, filled.size, entries, shape_->block_bytes(), values, output.values_capacity))
      return KernelStatus::limit;
    output.values = static_cast<unsigned char*>(values);
  }
  return KernelStatus::done;
}

std::int32_t grow_appended(AppendedOutput* output, std::uint64_t level, std::uint64_t parents, std::uint64_t entries) {
  auto* chunk = static_cast<AppendedChunk*>(output->owner);
  return static_cast<std::int32_t>(chunk->grow(*output, level, parents, entries));
}

}  // namespace weft
