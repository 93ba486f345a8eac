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
