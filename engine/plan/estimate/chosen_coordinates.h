// Coordinates of an index that a join leaves, and the entries that have them.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_set>
#include <vector>

#include "runtime/indices.h"

namespace weft {

/// Some coordinates of an index: a bit each where that takes little memory, since many entries of an operand may ask.
class ChosenCoordinates {
 public:
  ChosenCoordinates(double extent, const std::vector<std::uint64_t>& coordinates)
      : marks_(extent <= most_marks ? static_cast<std::size_t>(extent) : 0) {
    for (const std::uint64_t coordinate : coordinates) {
      if (contains(coordinate)) continue;
      all_.push_back(coordinate);
      if (coordinate < marks_.size()) marks_[coordinate] = true;
      else far_.insert(coordinate);
    }
  }
  bool contains(std::uint64_t coordinate) const { return coordinate < marks_.size() ? marks_[coordinate] : far_.contains(coordinate); }
  const std::vector<std::uint64_t>& all() const { return all_; }  ///< each once

 private:
  static constexpr double most_marks = 1 << 24;
  std::vector<bool> marks_;
  std::unordered_set<std::uint64_t> far_;
  std::vector<std::uint64_t> all_;
};

/// The entries of a tensor by their coordinates of one mode: those with coordinate c are entries[begin[c]], ...,
/// entries[begin[c + 1] - 1].
class EntriesByCoordinate {
 public:
  EntriesByCoordinate(Indices coordinates, std::uint64_t count, std::uint64_t extent) : begin_(extent + 2), entries_(count) {
    for (std::uint64_t n = 0; n < count; ++n) ++begin_[coordinates[n] + 2];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    for (std::uint64_t n = 0; n < count; ++n) entries_[begin_[coordinates[n] + 1]++] = static_cast<std::uint32_t>(n);
  }
  std::span<const std::uint32_t> at(std::uint64_t coordinate) const {
    if (coordinate + 2 >= begin_.size()) return {};
    return std::span(entries_).subspan(begin_[coordinate], begin_[coordinate + 1] - begin_[coordinate]);
  }

  static std::uint64_t bytes(std::uint64_t count, std::uint64_t extent) { return (count + extent + 2) * sizeof(std::uint32_t); }
  /// Where it takes no more memory than some columns of the entries.
  static bool is_small(std::uint64_t count, std::uint64_t extent) {
    constexpr std::uint64_t few = 1 << 16;
    return count < std::numeric_limits<std::uint32_t>::max() && extent <= 2 * count + few;
  }

 private:
  std::vector<std::uint32_t> begin_, entries_;
};

}  // namespace weft
