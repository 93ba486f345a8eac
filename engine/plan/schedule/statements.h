// Statements: what follows from the loops of a schedule.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/plan/schedule/contractions.h"

namespace weft {

/// Every index of each statement once, outermost first, of which it shares the first `fused` with its predecessor.
struct LoopNests {
  std::vector<std::vector<IndexId>> loops = {};
  std::vector<std::uint32_t> fused = {};
};

/// The first and the last of the statements that share the loop at `depth` of a statement.
std::size_t first_sharer(const Schedule& schedule, std::size_t statement, std::size_t depth);
std::size_t last_sharer(const Schedule& schedule, std::size_t statement, std::size_t depth);

/// Loops shared by all statements from `first` to `last` (positions in Schedule::statements, first <= last).
std::size_t shared_loops(const Schedule& schedule, std::size_t first, std::size_t last);

/// Dimensions of the largest intermediate that the schedule stores: its modes without the loops that its writer, its
/// readers and everything between share. 0 without intermediates.
std::uint32_t workspace_order(const Schedule& schedule);

/// Occurrences of an operand in one layout become one tensor; names keep their order.
Schedule merge_layouts(Schedule schedule);

}  // namespace weft
