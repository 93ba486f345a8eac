// Quantising statistics: figures of a few significant bits, so that nearly equal data share a plan.
#pragma once

#include <cstdint>

#include <vector>

#include "engine/plan/problem.h"
#include "weft/statistics.h"

namespace weft {

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

}  // namespace weft
