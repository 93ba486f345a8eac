// Index widths of everything that a schedule stores.
#pragma once

#include <vector>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// Extents of a tensor of the schedule, by mode.
std::vector<std::uint64_t> extents_of(const ScheduledTensor& tensor, const Network& network);

/// The format of an operand that is laid out otherwise.
Format with_widths(Format format, const std::vector<std::uint64_t>& extents, const OperandFacts& operand);

/// The schedule with the widths that the extents and the numbers of entries need: operands as they are stored, or wide enough for
/// what they are converted to; results and intermediates as their extents want, or as the operand that they are like.
Schedule with_widths(Schedule schedule, const Network& network, const std::vector<OperandFacts>& operands);

/// Whether the coordinates of the tensor's levels fit: input error naming the tensor, the level and its extent.
Expected<void> check_widths(const ScheduledTensor& tensor, const Network& network);

}  // namespace weft
