// Values of converted operands that change between runs: gathered into the new order before each run, or read where they stand,
// through the places that the conversion took them from.
//
//   M is given by rows and read by columns: entry p of the columns has value M.values[places[p] - 1].
//   gathered: every value is read out of order and written, then read by the kernel; through places: read out of order by the kernel,
//   between whose other reads lines of values stay in the cache only if all of them fit there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/plan.h"

namespace weft {

/// A converted operand whose values change, each of whose entries has one.
struct PlacedValues {
  std::uint32_t tensor = 0;   ///< position in Schedule::tensors
  std::uint8_t place_bits = 32;
  double gathering_ns = 0;    ///< of a run, before it
  double reading_ns = 0;      ///< of a run, more than values in order take: times the kernel's visits of an entry
  bool reads_through() const { return reading_ns < gathering_ns; }
};

/// Those of a plan, with what either way takes.
std::vector<PlacedValues> placed_values(const Network& network, const Plan& plan, const std::vector<OperandFacts>& operands,
                                        const Machine& machine);

/// "values of T, which change, are read through their places: 1.7e+03 us more a run, instead of 2.6e+03 us to gather them before it".
std::string explanation(const PlacedValues& placed, const Schedule& schedule);

}  // namespace weft
