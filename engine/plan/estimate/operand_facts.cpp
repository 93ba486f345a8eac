#include "engine/plan/estimate/operand_facts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/adjacency.h"
#include "runtime/level_traits.h"
#include "runtime/sparse_levels.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

constexpr double slots_per_stored = 2;  // of a hashed level: 1.5 to 3

// Beyond these every set is counted by a pass of its own (weft/statistics.h), or there are too many sets.
constexpr std::size_t most_sparse_levels = 6;
constexpr std::size_t most_modes_of_figures = 10;

std::uint64_t lent_bytes(const Tensor& tensor) {
  const auto lent = [](const Buffer& buffer) { return buffer.borrowed() ? buffer.size_bytes() : 0; };
  std::uint64_t bytes = lent(tensor.values());
  for (const LevelArrays& level : tensor.levels()) bytes += lent(level.pos) + lent(level.crd);
  return bytes;
}

double step_below(double figure) { return quantised(figure * (1 - std::ldexp(1.0, -significant_bits))); }

std::size_t sparse_levels(const Format& format) {
  std::size_t levels = format.order();
  while (levels > 0 && is_dense(format.levels[levels - 1].kind)) --levels;
  return levels;
}

}  // namespace

StoredArrays stored_arrays(const Format& format, const Statistics& statistics) {
  StoredArrays stored_so_far;
  auto& [bytes, positions] = stored_so_far;
  ModeSet modes = 0;
  for (std::size_t level = 0; level < format.order(); ++level) {
    const std::uint32_t mode = format.mode_order[level];
    const auto extent = static_cast<double>(statistics.extents()[mode]);
    modes |= ModeSet{1} << mode;
    const Level& stored = format.levels[level];
    if (has_bits(stored.kind)) bytes += positions * std::ceil(extent / 64) * 8;
    if (!is_sparse(stored.kind) || has_bits(stored.kind)) {
      positions *= extent;
      continue;
    }
    if (!is_per_parent(stored.kind)) bytes += (positions + 1) * stored.pos_bits / 8;
    positions = is_unique(stored.kind) ? statistics.distinct(modes) : statistics.nnz();
    if (has_slots(stored.kind)) positions *= slots_per_stored;
    bytes += positions * stored.crd_bits / 8;
  }
  return stored_so_far;
}

double stored_bytes(const Format& format, const Statistics& statistics) {
  const StoredArrays arrays = stored_arrays(format, statistics);
  return arrays.bytes + arrays.positions * scalar_bytes(format.scalar);
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

std::vector<ModeSet> quantised_sets(const Format& format) {
  std::vector<ModeSet> sets;
  const std::size_t modes = format.order();
  if (modes <= most_modes_of_figures && sparse_levels(format) <= most_sparse_levels) {
    for (ModeSet set = 1; set < ModeSet{1} << modes; ++set) sets.push_back(set);
    return sets;
  }
  ModeSet prefix = 0;
  for (const std::uint32_t mode : format.mode_order) {
    sets.push_back(ModeSet{1} << mode);
    sets.push_back(prefix |= ModeSet{1} << mode);
  }
  std::ranges::sort(sets);
  const auto repeated = std::ranges::unique(sets);
  sets.erase(repeated.begin(), repeated.end());
  return sets;
}

double quantised(double figure) {
  if (figure <= 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(figure, &exponent);
  return std::ldexp(std::floor(std::ldexp(fraction, significant_bits) + 0.5), exponent - significant_bits);
}

Statistics quantised(const Statistics& counted) {
  const std::vector<std::uint64_t>& extents = counted.extents();
  const Format& format = counted.format();
  if (format.all_dense() || counted.nnz() <= 0) {
    return of_values(Statistics(extents, format, counted.nnz()), counted);
  }
  std::map<ModeSet, double> distinct;
  for (const ModeSet set : quantised_sets(format)) {
    double combinations = 1;
    for (std::size_t mode = 0; mode < extents.size(); ++mode) {
      if (set >> mode & 1) combinations *= static_cast<double>(extents[mode]);
    }
    const double exact = counted.distinct(set);
    double figure = quantised(exact);
    if (exact >= combinations) figure = combinations;
    else if (figure >= combinations) figure = step_below(combinations);
    for (std::size_t mode = 0; mode < extents.size(); ++mode) {
      const auto smaller = distinct.find(set & ~(ModeSet{1} << mode));
      if (!(set >> mode & 1) || smaller == distinct.end()) continue;
      figure = std::min(figure, smaller->second * static_cast<double>(extents[mode]));
    }
    distinct[set] = figure;
  }
  const double all = distinct.rbegin()->second;
  const bool unique = counted.nnz() <= counted.distinct(distinct.rbegin()->first);
  return of_values(Statistics(extents, format, unique ? all : std::max(all, quantised(counted.nnz())), std::move(distinct)), counted);
}

OperandFacts quantised(OperandFacts facts) {
  facts.counted = OperandFacts::Counted{facts.statistics, facts.bytes};
  facts.statistics = quantised(facts.counted->statistics);
  facts.bytes = static_cast<std::uint64_t>(quantised(static_cast<double>(facts.bytes)));
  return facts;
}

double distinct_in_heavy_slices(const Statistics& exact, std::size_t mode, std::size_t counted) {
  constexpr double many_coordinates = 65536;
  constexpr double few_visits = 1.25;  // of a slice at one coordinate: hardly any come back
  const auto set = [](std::size_t one) { return ModeSet{1} << one; };
  if (exact.nnz() < many_coordinates || exact.distinct(set(counted)) < many_coordinates) return 0;
  if (exact.nnz() < few_visits * exact.distinct(set(mode) | set(counted))) return 0;
  return quantised(exact.distinct_in_slices(mode, counted));
}

double share_with_company(const Statistics& exact, std::size_t without) {
  constexpr double remembered_entries = 65536;
  constexpr double hardly_any = 1.02;
  constexpr double many = 8;
  constexpr std::size_t counted_together = 6;  // modes, whose sets are counted in one pass
  if (exact.extents().size() > counted_together) return 1;
  const auto all = static_cast<ModeSet>((std::uint64_t{1} << exact.extents().size()) - 1);
  const ModeSet modes = all & ~(ModeSet{1} << without);
  const double fibers = modes != 0 ? exact.distinct(modes) : 0;
  if (exact.nnz() < remembered_entries || exact.nnz() < hardly_any * fibers || exact.nnz() > many * fibers) return 1;
  return quantised(exact.share_with_company(modes));
}

}  // namespace weft
