#include "runtime/adjacency.h"

#include "runtime/indices.h"
#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr std::uint64_t least_mean = 4;

/// Coordinates of a fiber rise, so that the last is the first plus the entries but one if no gap lies between.
template <class Pos, class Crd>
bool without_gaps(std::span<const Pos> ends, std::span<const Crd> coordinates) {
  for (std::size_t fiber = 0; fiber + 1 < ends.size(); ++fiber) {
    const std::uint64_t entries = ends[fiber + 1] - ends[fiber];
    if (entries > 1 && coordinates[ends[fiber + 1] - 1] - coordinates[ends[fiber]] != entries - 1) return false;
  }
  return true;
}

Adjacency adjacency_of_rows(const Tensor& tensor) {
  const Format& format = tensor.format();
  if (format.layout || tensor.order() == 0) return Adjacency::none;
  const Level& last = format.levels.back();
  if (last.kind != LevelKind::compressed || last.joined) return Adjacency::none;
  const LevelArrays& arrays = tensor.levels().back();
  bool adjacent = false;
  with_width(last.pos_bits, [&]<class Pos>(Pos) {
    const auto ends = arrays.pos.as<const Pos>();
    if (ends.size() < 2 || ends.back() < least_mean * (ends.size() - 1)) return;
    with_width(last.crd_bits, [&]<class Crd>(Crd) { adjacent = without_gaps<Pos, Crd>(ends, arrays.crd.as<const Crd>()); });
  });
  return adjacent ? Adjacency::from_first : Adjacency::none;
}

}  // namespace

Adjacency adjacency(const Tensor& tensor) {
  PatternFacts* const facts = TensorParts::pattern_facts(tensor);
  if (facts == nullptr) return adjacency_of_rows(tensor);
  if (facts->adjacent != Adjacency::none) return facts->adjacent;
  if (facts->rows_looked_at.load(std::memory_order_acquire)) return facts->rows_adjacent.load(std::memory_order_relaxed);
  const Adjacency found = adjacency_of_rows(tensor);
  facts->rows_adjacent.store(found, std::memory_order_relaxed);
  facts->rows_looked_at.store(true, std::memory_order_release);
  return found;
}

}  // namespace weft
