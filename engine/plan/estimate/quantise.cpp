#include "engine/plan/estimate/quantise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "runtime/level_traits.h"
#include "runtime/tensor_facts.h"

namespace weft {
namespace {

// Beyond these every set is counted by a pass of its own (weft/statistics.h), or there are too many sets.
constexpr std::size_t most_sparse_levels = 6;
constexpr std::size_t most_modes_of_figures = 10;

double step_below(double figure) { return quantised(figure * (1 - std::ldexp(1.0, -significant_bits))); }

std::size_t sparse_levels(const Format& format) {
  std::size_t levels = format.order();
  while (levels > 0 && is_dense(format.levels[levels - 1].kind)) --levels;
  return levels;
}

}  // namespace

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
    if (exact >= combinations) {
      figure = combinations;
    } else if (figure >= combinations) {
      figure = step_below(combinations);
    }
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

}  // namespace weft
