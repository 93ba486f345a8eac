#include "python/_weft/shared_arrays.h"

#include <algorithm>

#include "python/_weft/errors.h"

namespace weft_python {
namespace {

/// As many as modes, unless the tensor has a layout: four of bcsr(2,2), (i/2:d, j/2:s, i%2:d, j%2:d).
std::uint32_t level_count(const weft_tensor* tensor) {
  std::uint32_t count = 0;
  while (weft_tensor_level_text(tensor, count, nullptr)[0] != '\0') ++count;
  return count > 0 ? count : weft_tensor_order(tensor);
}

}  // namespace

ArraysOf::ArraysOf(const weft_tensor* tensor) {
  Failure failure;
  std::uint64_t count = 0;
  if (weft_tensor_values(tensor, &values, &count, failure) != WEFT_OK || count == 0) values = nullptr;
  const std::uint32_t levels_there = level_count(tensor);
  for (std::uint32_t number = 0; number < levels_there; ++number) {
    const void *pos = nullptr, *crd = nullptr;
    failure.clear();
    const std::int32_t kind = weft_tensor_level(tensor, number, nullptr, nullptr, &pos, nullptr, nullptr, &crd, nullptr,
                                                nullptr, nullptr, failure);
    if (kind != WEFT_OK) continue;
    if (pos) levels.push_back(pos);
    if (crd) levels.push_back(crd);
  }
}

bool ArraysOf::share_levels(const ArraysOf& other) const {
  return std::ranges::find_first_of(levels, other.levels) != levels.end();
}

bool ArraysOf::share(const ArraysOf& other) const {
  return share_levels(other) || (values && values == other.values);
}

}  // namespace weft_python
