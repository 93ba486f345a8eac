// The functions that kernels call, by the names that runtime/abi.h gives them.
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

}  // namespace weft
