#include "engine/plan/estimate/skew.h"

#include "engine/plan/estimate/quantise.h"

namespace weft {

double distinct_in_heavy_slices(const Statistics& exact, std::size_t mode, std::size_t counted) {
  constexpr double many_coordinates = 65536;
  constexpr double few_visits = 1.25;  // of a slice at one coordinate: hardly any come back
  const auto set = [](std::size_t one) { return ModeSet{1} << one; };
  if (exact.nnz() < many_coordinates || exact.distinct(set(counted)) < many_coordinates) return 0;
  if (exact.nnz() < few_visits * exact.distinct(set(mode) | set(counted))) return 0;
  return quantised(exact.distinct_in_slices(mode, counted));
}

}  // namespace weft
