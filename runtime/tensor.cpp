#include "weft/tensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/extents.h"
#include "runtime/gaps.h"
#include "runtime/guarded.h"
#include "runtime/indices.h"

namespace weft {

std::uint64_t Tensor::positions(std::size_t level) const {
  if (level >= format.levels.size()) return 1;
  std::uint64_t count = 1;
  for (std::size_t l = 0; l <= level; ++l) {
    const Level& kind = format.levels[l];
    switch (kind.kind) {
      case LevelKind::bitmap:
      case LevelKind::dense: count = saturating_product(count, extent_of_level(l)); break;
      case LevelKind::singleton: break;
      default: {
        Indices pos(levels[l].pos, kind.pos_bits);
        count = count < pos.size() ? pos[count] : 0;
      }
    }
  }
  return count;
}

std::uint64_t Tensor::nnz() const {
  std::uint64_t dense = 1;
  for (std::size_t l = order(); l-- > 0;) {
    if (format.levels[l].kind != LevelKind::dense) return saturating_product(entries_of_level(*this, l), dense);
    dense = saturating_product(dense, extent_of_level(l));
  }
  return dense;
}

std::uint64_t Tensor::bytes() const {
  std::uint64_t total = values.size_bytes();
  for (const LevelArrays& level : levels) total += level.pos.size_bytes() + level.crd.size_bytes();
  return total;
}

bool Tensor::borrowed() const {
  return values.borrowed() ||
         std::ranges::any_of(levels, [](const LevelArrays& level) { return level.pos.borrowed() || level.crd.borrowed(); });
}

static std::string summary_of(const Tensor& tensor) {
  std::string shape = tensor.order() == 0 ? "scalar" : fmt::format("{}", fmt::join(tensor.extents, "x"));
  std::string layout = tensor.order() == 0 ? "" : tensor.format.text() + " ";
  double size = static_cast<double>(tensor.bytes());
  const char* unit = "B";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (size < 1000) break;
    size /= 1000;
    unit = larger;
  }
  return fmt::format("{} {}{}, {} stored, {:.{}f} {}", shape, layout, name(tensor.format.scalar), tensor.nnz(), size,
                     unit[0] == 'B' ? 0 : 1, unit);
}

std::string Tensor::summary() const {
  return guarded_text([&] { return summary_of(*this); });
}

}  // namespace weft
