// Bitonic sorting networks (Batcher, "Sorting networks and their applications", AFIPS 1968) over vector registers of any width.
//
// `Of` says what a vector is: its Key and Vector, how many `lanes` it has, and how one is loaded and stored in part, sorted, merged
// and reversed, and two compared. It belongs to the anonymous namespace of the file that is compiled for such vectors, and with it
// everything here: no other file may get to call what its processor does not have.
#pragma once

#include <cstdint>

namespace weft::sorting_network {

/// A bitonic sequence of Count vectors becomes ordered.
template <class Of, int Count>
inline void merge(typename Of::Vector* keys) {
  if constexpr (Count == 1) {
    keys[0] = Of::merge(keys[0]);
  } else {
    for (int n = 0; n < Count / 2; ++n) {
      const typename Of::Vector low = keys[n];
      const typename Of::Vector high = keys[n + Count / 2];
      keys[n] = Of::least(low, high);
      keys[n + Count / 2] = Of::most(low, high);
    }
    merge<Of, Count / 2>(keys);
    merge<Of, Count / 2>(keys + Count / 2);
  }
}

template <class Of, int Count>
inline void sort(typename Of::Vector* keys) {
  if constexpr (Count == 1) {
    keys[0] = Of::sort(keys[0]);
  } else {
    sort<Of, Count / 2>(keys);
    sort<Of, Count / 2>(keys + Count / 2);
    for (int low = Count / 2, high = Count - 1; low <= high; ++low, --high) {
      const typename Of::Vector kept = keys[low];
      keys[low] = Of::reverse(keys[high]);
      keys[high] = Of::reverse(kept);
    }
    merge<Of, Count>(keys);
  }
}

/// How many lanes of a vector a list of `count` keys has.
template <class Of>
inline unsigned live(std::uint64_t count, int vector) {
  const std::uint64_t before = static_cast<std::uint64_t>(vector) * Of::lanes;
  if (count >= before + Of::lanes) return Of::lanes;
  return count <= before ? 0U : static_cast<unsigned>(count - before);
}

/// Missing keys are the largest ones and stay behind all others.
template <class Of, int Count>
void sort_list(typename Of::Key* list, std::uint64_t count) {
  typename Of::Vector keys[Count];
  for (int n = 0; n < Count; ++n) keys[n] = Of::load(live<Of>(count, n), list + n * Of::lanes);
  sort<Of, Count>(keys);
  for (int n = 0; n < Count; ++n) Of::store(live<Of>(count, n), list + n * Of::lanes, keys[n]);
}

/// In the fewest vectors that hold it, a power of two of at most Most.
template <class Of, int Most, int Count = 1>
void sort_fitting(typename Of::Key* list, std::uint64_t count) {
  if constexpr (Count == Most)
    sort_list<Of, Count>(list, count);
  else if (count <= static_cast<std::uint64_t>(Count) * Of::lanes)
    sort_list<Of, Count>(list, count);
  else
    sort_fitting<Of, Most, 2 * Count>(list, count);
}

}  // namespace weft::sorting_network
