#include "engine/level_figures.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "runtime/gaps.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

constexpr std::size_t most_modes_of_all_sets = 10;

/// Sets of modes whose distinct counts are told: all, or those that levels bind one after the other.
std::vector<ModeSet> told_sets(const std::vector<std::uint32_t>& order) {
  std::vector<ModeSet> sets;
  if (order.size() <= most_modes_of_all_sets) {
    for (ModeSet set = 1; set < ModeSet{1} << order.size(); ++set) sets.push_back(set);
    return sets;
  }
  ModeSet bound = 0;
  for (const std::uint32_t mode : order) sets.push_back(bound |= ModeSet{1} << mode);
  return sets;
}

/// Distinct coordinates of some parts of modes, as few as the figures allow.
double least_distinct(const Statistics& known, const std::vector<ModePart>& parts, const std::vector<std::uint64_t>& extents, ModeSet set) {
  const std::vector<std::uint64_t>& of_modes = known.extents();
  std::vector<double> values(of_modes.size(), 1);  // that the parts of a mode have together
  ModeSet modes = 0;
  double room = 1;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (!(set >> part & 1)) continue;
    modes |= ModeSet{1} << parts[part].mode;
    values[parts[part].mode] *= static_cast<double>(extents[part]);
    room *= static_cast<double>(extents[part]);
  }
  const auto shrunk = [&](ModeSet of) {
    double count = known.distinct(of);
    for (std::size_t mode = 0; mode < of_modes.size(); ++mode)
      if (of >> mode & 1) count /= std::max(1.0, static_cast<double>(of_modes[mode]) / values[mode]);
    return count;
  };
  double least = shrunk(modes);
  for (std::size_t mode = 0; mode < of_modes.size(); ++mode)
    if (modes >> mode & 1) least = std::max(least, shrunk(ModeSet{1} << mode));
  // Kernels rely on levels that are full: an estimate never says so, neither of all coordinates nor of those below others.
  constexpr double apart = 1e-9;
  least *= 1 + apart * static_cast<double>(parts.size() - static_cast<std::size_t>(std::popcount(set)));
  return std::min(room * (1 - apart), std::max(least, known.nnz() > 0 ? 1.0 : 0.0));
}

/// Dense elements over parts of their modes: without strides where they lie as the parts follow each other.
Format dense_over(const std::vector<ModePart>& parts, const std::vector<std::uint64_t>& extents, std::size_t modes, Scalar scalar) {
  std::vector<std::uint64_t> covered(modes, 1);
  for (std::size_t part = 0; part < parts.size(); ++part) covered[parts[part].mode] *= extents[part];
  std::vector<std::uint64_t> by_mode(modes, 1);
  for (std::size_t mode = modes; mode-- > 1;) by_mode[mode - 1] = by_mode[mode] * covered[mode];
  Format format = dense_format(parts.size(), scalar);
  bool packed = true;
  std::uint64_t behind = 1;
  for (std::size_t part = parts.size(); part-- > 0;) {
    const std::uint64_t distance = by_mode[parts[part].mode] * parts[part].divisor;
    packed = packed && (distance == behind || extents[part] <= 1);
    format.levels[part].strided = part + 1 < parts.size() || distance != 1;
    behind *= extents[part];
  }
  return packed ? dense_format(parts.size(), scalar) : format;
}

}  // namespace

Statistics told_in(const Statistics& known, Format format) {
  std::map<ModeSet, double> distinct;
  for (const ModeSet set : told_sets(format.mode_order)) distinct[set] = known.distinct(set);
  format.scalar = known.format().scalar;
  return Statistics(known.extents(), std::move(format), known.nnz(), std::move(distinct), known.finite());
}

std::optional<Statistics> figures_over_levels(const Exposure& exposure, TensorId operand, const Statistics& known) {
  const ExposedTensor& read = exposure.tensors[operand];
  if (read.parts.empty()) return read.read_in ? told_in(known, *read.read_in) : known;
  const bool of_modes = std::ranges::none_of(read.parts, [](const ModePart& part) { return part.own || part.counts; });
  if (!read.read_in || !of_modes || !read.reach.empty() || read.placed || read.inside || read.at_digits) return std::nullopt;
  const std::vector<std::uint64_t>& extents = exposure.network.tensors[operand].extents;
  const std::size_t order = read.parts.size();
  const Scalar scalar = known.format().scalar;
  Format format;
  format.scalar = scalar;
  format.levels = read.read_in->levels;
  format.mode_order.resize(order);
  std::iota(format.mode_order.begin(), format.mode_order.end(), 0U);
  if (std::ranges::any_of(format.levels, [](const Level& level) { return has_lengths(level.kind); })) return std::nullopt;
  for (Level& level : format.levels) level.crd_bits = std::max<std::uint8_t>(level.crd_bits, 32);
  double places = 1;
  if (format.all_dense()) {
    for (const std::uint64_t extent : extents) places *= static_cast<double>(extent);
    return Statistics(extents, dense_over(read.parts, extents, known.extents().size(), scalar), places, {}, known.finite());
  }
  // Dense levels below all others hold every coordinate.
  ModeSet whole = 0;
  for (std::size_t level = order; level > 0 && is_dense(format.levels[level - 1].kind); --level) whole |= ModeSet{1} << (level - 1);
  std::map<ModeSet, double> distinct;
  const auto counted = [&](ModeSet set) {
    double count = (set & ~whole) != 0 ? least_distinct(known, read.parts, extents, set & ~whole) : known.nnz() > 0 ? 1 : 0;
    for (std::size_t level = 0; level < order; ++level)
      if (set & whole & ModeSet{1} << level) count *= static_cast<double>(extents[level]);
    return count;
  };
  for (const ModeSet set : told_sets(format.mode_order)) distinct[set] = counted(set);
  places = counted(static_cast<ModeSet>((std::uint64_t{1} << order) - 1));
  return Statistics(extents, std::move(format), places, std::move(distinct), known.finite());
}

}  // namespace weft
