// Facts of an operand before anything is planned, of a tensor or of figures alone; the same rounded to a few significant bits, so that
// nearly equal data share a plan; and its skew: what its heavy slices hold, where means over slices mislead a price.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/problem.h"
#include "weft/statistics.h"

namespace weft {

/// Facts of a tensor; nothing is counted before it is asked for.
OperandFacts operand_facts(const Tensor& tensor, const Resources& resources);
/// Of figures alone: bytes are estimated from distinct counts.
OperandFacts operand_facts(const Statistics& statistics);

/// What the arrays of a format take that hold entries of these statistics.
struct StoredArrays {
  double bytes = 0;      ///< of positions and coordinates
  double positions = 1;  ///< of the last level: values
};
StoredArrays stored_arrays(const Format& format, const Statistics& statistics);
/// The bytes of all arrays, values included.
double stored_bytes(const Format& format, const Statistics& statistics);

/// The significant bits that figures keep: neighbours are 3 to 6 % apart, less than a cost model knows.
constexpr int significant_bits = 5;

/// The nearest figure of `significant_bits` binary digits; ties go up. Whole numbers to 32 stay. Not negative, finite.
double quantised(double figure);

/// The sets of modes whose counts quantised() keeps, every set after its subsets.
std::vector<ModeSet> quantised_sets(const Format& format);

/// Figures of the same pattern, rounded, held apart from the tensor: a plan made with them is a function of them.
/// Rounding keeps figures that are exact by meaning: an empty pattern stays empty, a set of modes whose coordinates all occur
/// stays full and no other becomes so, and d(S - x) <= d(S) <= d(S - x) * extent(x). All sets of modes of up to ten
/// modes with up to six above the trailing dense levels are asked for; of more, single modes and prefixes of the stored
/// order, the others being estimated from them.
Statistics quantised(const Statistics& counted);

/// Facts whose statistics and bytes are rounded, beside what they were. The one place where the engine quantises.
OperandFacts quantised(OperandFacts counted);

/// Distinct coordinates of mode `counted` in the slice of `mode` that an entry lies in, in the mean over entries, quantised; 0
/// where means tell enough: with fewer than 65536 coordinates, whose rows some cache holds, or where slices hardly come back to them.
/// In debian_contents a slice of the last mode has 17 coordinates of the one before, that of an entry 174,000. Part of what plans are
/// remembered by.
double distinct_in_heavy_slices(const Statistics& exact, std::size_t mode, std::size_t counted);

/// Of the tuples over all modes but one, the share with more than one entry, quantised; 1 where their mean length tells enough: with
/// fewer than 65536 entries, whose ends a processor remembers, where hardly any has company, from 8 entries on, and with more than six
/// modes. In power-law data 0.12 of the fibers, of 1.36 entries in the mean, where of uniform ones 0.29 have. Part of what plans are
/// remembered by.
double share_with_company(const Statistics& exact, std::size_t without);

}  // namespace weft
