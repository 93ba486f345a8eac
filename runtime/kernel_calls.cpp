// The functions that kernels call, by the names that runtime/abi.h gives them.
#include <algorithm>

#include "runtime/abi.h"
#include "runtime/sort_keys.h"

namespace weft {

// The second half of a list is free wherever sorting needs room: lists that fill more of the extent are read from the
// marks.
void weft_sort_touched_32(std::uint32_t* touched, std::uint64_t count, const std::uint8_t* marks,
                          std::uint64_t extent) {
  sort_keys(touched, touched + count, count, extent, marks);
}

void weft_sort_touched_64(std::uint64_t* touched, std::uint64_t count, const std::uint8_t* marks,
                          std::uint64_t extent) {
  sort_keys(touched, touched + count, count, extent, marks);
}

std::uint64_t weft_list_marked_32(std::uint32_t* list, const std::uint8_t* marks, std::uint64_t extent) {
  return list_marked(marks, extent, list);
}

std::uint64_t weft_lower_bound_32(const std::uint32_t* crd, std::uint64_t begin, std::uint64_t end, std::uint64_t coordinate) {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(crd + begin, crd + end, coordinate) - crd);
}

std::uint64_t weft_lower_bound_64(const std::uint64_t* crd, std::uint64_t begin, std::uint64_t end, std::uint64_t coordinate) {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(crd + begin, crd + end, coordinate) - crd);
}

}  // namespace weft
