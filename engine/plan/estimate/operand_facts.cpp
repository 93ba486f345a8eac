#include "engine/plan/estimate/operand_facts.h"

#include <algorithm>
#include <cmath>

#include "runtime/adjacency.h"
#include "runtime/level_traits.h"
#include "runtime/sparse_levels.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr double slots_per_stored = 2;  // of a hashed level: 1.5 to 3

}  // namespace

StoredArrays stored_arrays(const Format& format, const Statistics& statistics) {
  StoredArrays stored_so_far;
  auto& [bytes, positions] = stored_so_far;
  ModeSet modes = 0;
  for (std::size_t level = 0; level < format.order(); ++level) {
    const std::uint32_t mode = format.mode_order[level];
    modes |= ModeSet{1} << mode;
    const Level& stored = format.levels[level];
    if (!is_sparse(stored.kind)) {
      positions *= static_cast<double>(statistics.extents()[mode]);
      continue;
    }
    if (has_bits(stored.kind)) {
      const double extent = static_cast<double>(statistics.extents()[mode]);
      bytes += positions * std::ceil(extent / 64) * 8;
      positions *= extent;
      continue;
    }
    if (!is_per_parent(stored.kind)) bytes += (positions + 1) * stored.pos_bits / 8;
    const bool repeats = !is_unique(stored.kind);
    positions = repeats ? statistics.nnz() : statistics.distinct(modes);
    if (has_slots(stored.kind)) positions *= slots_per_stored;
    bytes += positions * stored.crd_bits / 8;
  }
  return stored_so_far;
}

double stored_bytes(const Format& format, const Statistics& statistics) {
  const StoredArrays arrays = stored_arrays(format, statistics);
  return arrays.bytes + arrays.positions * scalar_bytes(format.scalar);
}

static std::uint64_t lent_bytes(const Tensor& tensor) {
  const auto lent = [](const Buffer& buffer) { return buffer.borrowed() ? buffer.size_bytes() : 0; };
  std::uint64_t bytes = lent(tensor.values());
  for (const LevelArrays& level : tensor.levels()) bytes += lent(level.pos) + lent(level.crd);
  return bytes;
}

OperandFacts operand_facts(const Tensor& tensor, const Resources& resources) {
  OperandFacts facts{.format = tensor.format(), .statistics = statistics(tensor, resources), .bytes = tensor.bytes()};
  facts.lent = lent_bytes(tensor);
  facts.stored = &tensor;
  facts.adjacent = adjacency(tensor);
  if (const PatternFacts* const pattern = TensorParts::pattern_facts(tensor)) {
    facts.place_bits = static_cast<std::uint8_t>(pattern->place_bits);
  }
  return facts;
}

OperandFacts operand_facts(const Statistics& statistics) {
  // Figures may be of a tensor that no memory holds.
  const auto bytes = static_cast<std::uint64_t>(std::min(stored_bytes(statistics.format(), statistics), 0x1p63));
  return {.format = statistics.format(), .statistics = statistics, .bytes = bytes};
}

}  // namespace weft
