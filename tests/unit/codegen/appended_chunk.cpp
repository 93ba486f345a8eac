#include "tests/unit/codegen/appended_chunk.h"

#include <algorithm>
#include <cstring>

namespace weft::test {

AppendedChunk::AppendedChunk(const loop::Storage& storage, std::vector<std::uint64_t> extents, std::uint64_t first,
                             std::uint64_t rows)
    : storage_(storage),
      extents_(std::move(extents)),
      first_(first),
      rows_(rows),
      levels_(storage.levels.size()),
      pos_(storage.levels.size()),
      crd_(storage.levels.size()) {
  for (std::uint32_t level = 0; level < levels_.size(); ++level)
    if (storage.levels[level].kind == LevelKind::compressed) last_ = level;
  for (std::size_t level = last_ + 1; level < levels_.size(); ++level) block_ *= extents_[level];
  for (std::uint32_t level = 0; level < levels_.size(); ++level)
    if (storage.levels[level].kind == LevelKind::compressed) {
      pos_[level] = {0};
      levels_[level].pos = pos_[level].data();
    }
  output_.levels = levels_.data();
  output_.owner = this;
}

std::int32_t AppendedChunk::grow(AppendedOutput* output, std::uint64_t level, std::uint64_t parents,
                                 std::uint64_t entries) {
  auto& chunk = *static_cast<AppendedChunk*>(output->owner);
  if (chunk.calls_left == 0) return static_cast<std::int32_t>(KernelStatus::limit);
  --chunk.calls_left;
  const bool generous = ++chunk.calls_ % 5 == 0;
  chunk.move_to(*output, static_cast<std::uint32_t>(level), generous ? parents + 3 : parents, generous ? 2 * entries : entries);
  return static_cast<std::int32_t>(KernelStatus::done);
}

void AppendedChunk::move_to(AppendedOutput& output, std::uint32_t level, std::uint64_t parents, std::uint64_t entries) {
  const auto enlarge = [](auto& array, std::size_t size) {
    auto larger = array;
    larger.resize(std::max(size, array.size()), static_cast<typename std::decay_t<decltype(array)>::value_type>(0xEE));
    std::ranges::fill(array, 0xEE);
    array.swap(larger);
  };
  AppendedLevel& each = levels_[level];
  enlarge(pos_[level], parents + 1);
  enlarge(crd_[level], entries * (storage_.levels[level].crd_bits / 8u));
  each.pos = pos_[level].data();
  each.crd = crd_[level].data();
  each.pos_capacity = std::max(each.pos_capacity, parents);
  each.crd_capacity = std::max(each.crd_capacity, entries);
  if (level != last_) return;
  enlarge(values_, entries * block_ * scalar_bytes(storage_.scalar));
  output.values = values_.data();
  output.values_capacity = std::max(output.values_capacity, entries);
}

std::uint64_t AppendedChunk::positions(std::uint32_t level) const {
  if (storage_.levels[level].kind == LevelKind::compressed) return levels_[level].size;
  return (level == 0 ? 1 : positions(level - 1)) * (level == 0 ? rows_ : extents_[level]);
}

std::uint64_t AppendedChunk::coordinate(std::uint32_t level, std::uint64_t position) const {
  if (storage_.levels[level].crd_bits == 32) {
    std::uint32_t value = 0;
    std::memcpy(&value, crd_[level].data() + position * 4, 4);
    return value;
  }
  std::uint64_t value = 0;
  std::memcpy(&value, crd_[level].data() + position * 8, 8);
  return value;
}

std::string AppendedChunk::read(loop::Entries& entries) {
  for (std::uint32_t level = 0; level < levels_.size(); ++level) {
    if (storage_.levels[level].kind != LevelKind::compressed) continue;
    const std::uint64_t parents = level == 0 ? 1 : positions(level - 1);
    if (levels_[level].closed > parents) return "more parents closed than there are";
    pos_[level].resize(levels_[level].closed + 1);  // what the kernel said is written
    pos_[level].resize(parents + 1, levels_[level].size);
    if (!std::ranges::is_sorted(pos_[level])) return "pos does not increase";
    if (pos_[level].front() != 0 || pos_[level].back() != levels_[level].size) return "pos has wrong ends";
    if (levels_[level].size > levels_[level].crd_capacity) return "more entries than room";
  }
  std::vector<std::uint64_t> coordinates;
  return read_below(0, 0, coordinates, entries);
}

std::string AppendedChunk::read_below(std::uint32_t level, std::uint64_t position,
                                      std::vector<std::uint64_t>& coordinates, loop::Entries& entries) const {
  if (level == levels_.size()) {
    double value = 0;
    if (storage_.scalar == Scalar::f64) {
      std::memcpy(&value, values_.data() + position * 8, 8);
    } else {
      float single = 0;
      std::memcpy(&single, values_.data() + position * 4, 4);
      value = static_cast<double>(single);
    }
    return entries.emplace(coordinates, value).second ? "" : "two chunks made one entry";
  }
  std::string defect;
  const auto visit = [&](std::uint64_t coordinate, std::uint64_t below) {
    coordinates.push_back(coordinate);
    if (defect.empty()) defect = read_below(level + 1, below, coordinates, entries);
    coordinates.pop_back();
  };
  if (storage_.levels[level].kind == LevelKind::dense) {
    const std::uint64_t extent = level == 0 ? rows_ : extents_[level];
    for (std::uint64_t n = 0; n < extent; ++n) visit(n + (level == 0 ? first_ : 0), position * extent + n);
    return defect;
  }
  for (std::uint64_t n = pos_[level][position]; n < pos_[level][position + 1]; ++n) {
    if (n > pos_[level][position] && coordinate(level, n) <= coordinate(level, n - 1)) return "unsorted";
    if (coordinate(level, n) >= extents_[level]) return "a coordinate beyond the extent";
    const std::size_t old = entries.size();
    visit(coordinate(level, n), n);
    const bool never = std::ranges::find(extents_.begin() + level + 1, extents_.end(), 0u) != extents_.end();
    if (defect.empty() && entries.size() == old && !never) return "an entry with nothing below it";
  }
  return defect;
}

}  // namespace weft::test
