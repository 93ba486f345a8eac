// Slots of a hash table's level in the order of their coordinates.
#include <algorithm>
#include <limits>

#include "runtime/hashed_order.h"

namespace weft {
namespace {

/// The pairs of taken slots, behind each other in `sorted`; how many.
template <class T>
std::uint64_t list_slots(const HashedTable& list, const T* crd, std::uint64_t begin, std::uint64_t end, std::uint64_t first,
                         std::uint64_t last) {
  constexpr T empty = std::numeric_limits<T>::max();
  std::uint64_t count = 0;
  // A branch for each slot would be guessed wrong half of the time: what is not taken is written over.
  for (std::uint64_t slot = begin; slot < end; ++slot) {
    list.sorted[2 * count] = crd[slot];
    list.sorted[2 * count + 1] = slot;
    count += crd[slot] != empty && crd[slot] >= first && crd[slot] < last ? 1 : 0;
  }
  return count;
}

}  // namespace

std::int32_t weft_sort_slots(HashedTable* list, const void* crd, std::uint64_t crd_bits, std::uint64_t begin,
                             std::uint64_t end, std::uint64_t first, std::uint64_t last) {
  constexpr std::uint64_t few_entries = 32;
  list->listed = 0;
  if (begin == end) return 0;
  // At most two thirds of the slots are taken, but for a fiber of one entry; sorting takes as much room again.
  if (!hashed::resize(*list, list->sorted, HashedTable::sorted_array, 4 * (end - begin) * sizeof(std::uint64_t))) return list->status;
  const std::uint64_t count = crd_bits == 64
                                  ? list_slots(*list, static_cast<const std::uint64_t*>(crd), begin, end, first, last)
                                  : list_slots(*list, static_cast<const std::uint32_t*>(crd), begin, end, first, last);
  list->listed = count;
  if (count <= few_entries) {
    for (std::uint64_t n = 1; n < count; ++n) {
      const std::uint64_t coordinate = list->sorted[2 * n];
      const std::uint64_t slot = list->sorted[2 * n + 1];
      std::uint64_t place = n;
      for (; place > 0 && list->sorted[2 * place - 2] > coordinate; --place) {
        list->sorted[2 * place] = list->sorted[2 * place - 2];
        list->sorted[2 * place + 1] = list->sorted[2 * place - 1];
      }
      list->sorted[2 * place] = coordinate;
      list->sorted[2 * place + 1] = slot;
    }
    return 0;
  }
  std::uint64_t* from = list->sorted;
  std::uint64_t* to = list->sorted + 2 * count;
  list->size = count;  // what is sorted; the table has no entries of its own
  const bool sorted = hashed::sort_by_digits(*list, from, to, 2, 0);
  list->size = 0;
  if (!sorted) return static_cast<std::int32_t>(KernelStatus::cancelled);
  if (from != list->sorted) std::copy_n(from, 2 * count, list->sorted);
  return 0;
}

}  // namespace weft
