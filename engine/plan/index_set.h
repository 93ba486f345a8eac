// IndexSet: a set of indices of a network.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "engine/network/network.h"

namespace weft {

/// A set of indices of the network: bit i is index i. The planner refuses networks with more than 64 indices.
using IndexSet = std::uint64_t;

inline constexpr std::size_t most_planned_indices = 64;

constexpr IndexSet one_index(IndexId index) { return IndexSet{1} << index; }
constexpr bool contains(IndexSet set, IndexId index) { return (set >> index & 1) != 0; }
constexpr IndexSet index_set(std::span<const IndexId> indices) {
  IndexSet set = 0;
  for (const IndexId index : indices) set |= one_index(index);
  return set;
}
constexpr IndexSet index_set(std::initializer_list<IndexId> indices) { return index_set(std::span(indices.begin(), indices.size())); }

/// The indices of a set, ascending: to go over, or as a vector.
class IndexMembers {
 public:
  explicit IndexMembers(IndexSet set) : set_(set) {}

  class Iterator {
   public:
    explicit Iterator(IndexSet left) : left_(left) {}
    IndexId operator*() const { return static_cast<IndexId>(std::countr_zero(left_)); }
    Iterator& operator++() {
      left_ &= left_ - 1;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    IndexSet left_;
  };
  Iterator begin() const { return Iterator(set_); }
  Iterator end() const { return Iterator(0); }

  bool empty() const { return set_ == 0; }
  std::size_t size() const { return static_cast<std::size_t>(std::popcount(set_)); }
  IndexId front() const { return *begin(); }
  operator std::vector<IndexId>() const {
    std::vector<IndexId> result;
    result.reserve(size());
    for (const IndexId index : *this) result.push_back(index);
    return result;
  }

 private:
  IndexSet set_;
};
inline IndexMembers members(IndexSet set) { return IndexMembers(set); }

}  // namespace weft
