#include "engine/plan/cost/conversion.h"

#include <algorithm>

#include "engine/plan/estimate/operand_facts.h"
#include "runtime/made_of_rows.h"
#include "runtime/dense_levels.h"
#include "runtime/level_traits.h"

namespace weft {
namespace {

// A position of the dense levels, or an entry above them, beside an entry that is sorted and rebuilt.
constexpr double share_of_conversion = 1.0 / 16;
constexpr double share_of_counting = 0.4;          // an entry that is stored where it belongs, without a sort
constexpr double reordered_byte = 0.06;  // nanoseconds: half a nanosecond for an element of f64 on its way through the room

/// Places without an entry, which are cleared: beyond the caches in new pages, at 0.4 ns a byte (1.06 GB of a matrix took 0.39 s).
double gaps_ns(const Format& format, const OperandFacts& operand, const Machine& machine) {
  constexpr double byte_of_new_pages = 0.4;
  if (std::ranges::none_of(format.levels, [](const Level& level) { return has_gaps(level.kind); })) return 0;
  const double bytes = stored_bytes(format, operand.statistics);
  return bytes * (machine.cache_level(bytes) < 3 ? 1 / machine.stream[3] : byte_of_new_pages) * operand.conversion_share;
}

/// Whether rows become columns by counting how many entries each column has (runtime/transposed_rows.h).
bool is_counted(const OperandFacts& operand) {
  const Format& format = operand.format;
  if (format.order() != 2 || format.layout || !is_compressed(format.levels[1].kind)) return false;
  const auto columns = static_cast<double>(operand.statistics.extents()[format.mode_order[1]]);
  return columns <= operand.statistics.nnz();
}

}  // namespace

double reordering_ns(double bytes, const Machine& machine) {
  return bytes * (reordered_byte + 3 / machine.stream[machine.cache_level(2 * bytes)]);
}

double leading_positions(const Format& format, std::size_t levels, const Statistics& statistics) {
  double product = 1;
  for (std::size_t level = 0; level < levels; ++level) {
    product *= static_cast<double>(statistics.extents()[format.mode_order[level]]);
  }
  return product;
}

double leading_entries(const Format& format, std::size_t levels, const Statistics& statistics) {
  ModeSet modes = 0;
  for (std::size_t level = 0; level < levels; ++level) modes |= ModeSet{1} << format.mode_order[level];
  return statistics.distinct(modes);
}

double conversion_ns(const OperandFacts& operand, const Machine& machine) {
  if (operand.format.all_dense()) return reordering_ns(static_cast<double>(operand.bytes), machine) * operand.conversion_share;
  const double entry_ns = machine.convert_entry * (is_counted(operand) ? share_of_counting : 1);
  const double whole = operand.statistics.nnz() * entry_ns + static_cast<double>(operand.bytes) * 2 / machine.stream[3];
  return whole * operand.conversion_share;
}

double conversion_ns(const Format& from, double from_places, const Format& to, double to_places, const Machine& machine) {
  // Beside an entry that is sorted:
  constexpr double share_of_place = 0.25;    // read or written in the order of the rows
  constexpr double share_of_listing = 0.35;  // a place of a layout, and its coordinates of modes
  const double places = from_places + to_places;
  if (from.all_dense() && to.all_dense()) return places * share_of_conversion * machine.convert_entry;
  if (!from.layout && !to.layout) return from_places * machine.convert_entry;
  const Rearranging how = rearranging(from, to);
  if (how == Rearranging::sorts_places) return places * machine.convert_entry;
  if (how == Rearranging::counts) {
    const double listed = from.layout ? from_places * share_of_listing : 0;
    return (listed + std::min(from_places, to_places) * share_of_counting) * machine.convert_entry;
  }
  const double sorted = how == Rearranging::merges ? 0 : std::min(from_places, to_places);
  return (places * share_of_place + sorted) * machine.convert_entry;
}

double copy_again_ns(const Format& from, double from_places, const Format& to, double to_places, const Machine& machine) {
  // A place read or written, beside an entry that is sorted: vectors of 5000 to 10^6 elements with zeros around them take 0.33 to 0.9 ns
  // an element, a matrix in pages that are new 3.2.
  constexpr double share_of_copy = 1.0 / 80;
  if (!from.all_dense() || !to.all_dense()) return conversion_ns(from, from_places, to, to_places, machine);
  return (from_places + to_places) * share_of_copy * machine.convert_entry;
}

double layout_ns(const Format& to, bool opened, const OperandFacts& operand, const Machine& machine) {
  if (!opened) return conversion_ns(operand, machine) + gaps_ns(to, operand, machine);
  const std::size_t levels = leading_dense_levels(to.levels);
  return (leading_positions(to, levels, operand.statistics) + leading_entries(to, levels, operand.statistics)) *
         machine.convert_entry * share_of_conversion * operand.conversion_share;
}

double layout_ns(const ScheduledTensor& tensor, const OperandFacts& operand, const Machine& machine) {
  return tensor.converted ? layout_ns(tensor.format, tensor.opened, operand, machine) : 0;
}

}  // namespace weft
