#include "runtime/overlap.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <vector>

#include "runtime/dense.h"

namespace weft {
namespace {

/// Elements of a dense tensor: bytes at base + c0 * strides[0] + c1 * strides[1] + …, all below the counts.
struct Grid {
  std::int64_t base = 0;
  std::int64_t bytes = 0;  ///< of an element
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> last;  ///< coordinates
};

/// [begin, begin + length)
struct Interval {
  std::int64_t begin = 0;
  std::int64_t length = 0;
};

std::optional<Grid> grid(const Tensor& tensor) {
  Grid grid;
  grid.bytes = scalar_bytes(tensor.format().scalar);
  grid.base = reinterpret_cast<std::intptr_t>(tensor.values().data()) + static_cast<std::int64_t>(tensor.offset()) * grid.bytes;
  const std::vector<std::uint64_t> strides = strides_by_mode(tensor);
  for (std::size_t mode = 0; mode < tensor.order(); ++mode) {
    if (tensor.extents()[mode] == 0) return std::nullopt;
    if (tensor.extents()[mode] == 1) continue;
    grid.strides.push_back(static_cast<std::int64_t>(strides[mode]) * grid.bytes);
    grid.last.push_back(static_cast<std::int64_t>(tensor.extents()[mode]) - 1);
  }
  return grid;
}

/// Where the elements lie, of a period of memory; without one (0): where they lie.
Interval covered(const Grid& grid, std::int64_t period) {
  Interval all{grid.base, grid.bytes};
  for (std::size_t mode = 0; mode < grid.strides.size(); ++mode) {
    if (period != 0 && grid.strides[mode] % period == 0) continue;
    const std::int64_t reach = grid.strides[mode] * grid.last[mode];
    if (reach < 0) all.begin += reach;
    all.length += reach < 0 ? -reach : reach;
  }
  return all;
}

bool apart(const Grid& a, const Grid& b) {
  const Interval whole_a = covered(a, 0), whole_b = covered(b, 0);
  if (whole_a.begin + whole_a.length <= whole_b.begin || whole_b.begin + whole_b.length <= whole_a.begin) return true;
  for (const Grid* one : {&a, &b}) {
    for (const std::int64_t stride : one->strides) {
      const std::int64_t period = stride < 0 ? -stride : stride;
      if (period == 0) continue;
      const Interval of_a = covered(a, period), of_b = covered(b, period);
      const std::int64_t distance = ((of_b.begin - of_a.begin) % period + period) % period;
      if (distance >= of_a.length && distance + of_b.length <= period) return true;
    }
  }
  return false;
}

bool overlap(const Buffer& a, const Buffer& b) {
  if (a.size_bytes() == 0 || b.size_bytes() == 0) return false;
  const auto begin = [](const Buffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.data()); };
  return begin(a) < begin(b) + b.size_bytes() && begin(b) < begin(a) + a.size_bytes();
}

bool levels_overlap(const Tensor& tensor, const Buffer& memory) {
  return std::ranges::any_of(tensor.levels(), [&](const LevelArrays& level) {
    return overlap(level.pos, memory) || overlap(level.crd, memory);
  });
}

}  // namespace

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (levels_overlap(a, b.values()) || levels_overlap(b, a.values())) return true;
  if (!overlap(a.values(), b.values())) return false;
  if (!a.format().all_dense() || !b.format().all_dense()) return true;
  const auto of_a = grid(a), of_b = grid(b);
  return of_a && of_b && !apart(*of_a, *of_b);
}

bool may_overlap(const Tensor& tensor, const Buffer& memory) {
  return overlap(tensor.values(), memory) || levels_overlap(tensor, memory);
}

bool repeats_elements(std::span<const std::uint64_t> extents, std::span<const std::int64_t> strides) {
  if (std::ranges::find(extents, std::uint64_t{0}) != extents.end()) return false;
  const auto last = [&](std::size_t mode) { return static_cast<std::int64_t>(extents[mode] - 1); };
  for (std::size_t mode = 0; mode < extents.size(); ++mode) {
    if (last(mode) == 0) continue;
    if (strides[mode] == 0) return true;
    for (std::size_t other = 0; other < mode; ++other) {
      const std::int64_t common = std::gcd(strides[mode], strides[other]);
      const bool meet = std::abs(strides[other] / common) <= last(mode) && std::abs(strides[mode] / common) <= last(other);
      if (last(other) != 0 && meet) return true;
    }
  }
  return false;
}

bool repeats_elements(const Tensor& tensor) {
  if (!tensor.format().all_dense() || tensor.format().layout) return false;
  const std::vector<std::uint64_t> by_mode = strides_by_mode(tensor);
  return repeats_elements(tensor.extents(), std::vector<std::int64_t>(by_mode.begin(), by_mode.end()));
}

}  // namespace weft
