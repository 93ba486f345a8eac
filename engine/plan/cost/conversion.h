// What laying an operand out otherwise takes, before the run.
#pragma once

#include <cstddef>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// Nanoseconds to convert an operand once, of which this network bears its share.
double conversion_ns(const OperandFacts& operand, const Machine& machine);

/// Nanoseconds to store so many places of a format as so many of another, once; entries that are no padding are on both sides.
double conversion_ns(const Format& from, double from_places, const Format& to, double to_places, const Machine& machine);

/// The same over a copy that was stored before, for other values: less where both are dense, as its memory is there.
double copy_again_ns(const Format& from, double from_places, const Format& to, double to_places, const Machine& machine);

/// Nanoseconds to bring an operand into another layout, once. One that is `opened` (runtime/open_levels.h) pays for its array of ends
/// alone, far less than one that is sorted and rebuilt.
double layout_ns(const Format& to, bool opened, const OperandFacts& operand, const Machine& machine);
/// Into the one that a schedule has of it.
double layout_ns(const ScheduledTensor& tensor, const OperandFacts& operand, const Machine& machine);

/// Nanoseconds, on all threads together, for so many bytes of a dense tensor whose elements change their order, of an operand before the
/// run or of a result when it is handed over (runtime/transposed_tiles.h): a line is read and written, in a room of the first cache
/// between.
double reordering_ns(double bytes, const Machine& machine);

/// Positions of the first levels of a format if they are dense, and how many of those hold entries.
double leading_positions(const Format& format, std::size_t levels, const Statistics& statistics);
double leading_entries(const Format& format, std::size_t levels, const Statistics& statistics);

}  // namespace weft
