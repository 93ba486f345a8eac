// Statements: what follows from the loops of a schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/schedule/contractions.h"

namespace weft {

/// Statements `first` to `last`, both included: never empty. By position in a schedule, or in a nest.
struct StatementRange {
  std::size_t first = 0;
  std::size_t last = 0;

  std::size_t end() const { return last + 1; }  ///< the statement behind it
  std::size_t size() const { return end() - first; }
  bool contains(std::size_t statement) const { return first <= statement && statement <= last; }
  bool operator==(const StatementRange&) const = default;
};

/// The nests of a schedule, in order: a statement that shares no loop with its predecessor begins one, which has a root of its own.
std::vector<StatementRange> nests_of(const Schedule& schedule);

/// The first and the last of the statements that share the loop at `depth` of a statement.
std::size_t first_sharer(const Schedule& schedule, std::size_t statement, std::size_t depth);
std::size_t last_sharer(const Schedule& schedule, std::size_t statement, std::size_t depth);

/// Loops shared by all statements from `first` to `last` (positions in Schedule::statements, first <= last).
std::size_t shared_loops(const Schedule& schedule, std::size_t first, std::size_t last);
/// Their indices.
IndexSet shared_indices(const Schedule& schedule, std::size_t first, std::size_t last);

/// Whether what a statement writes is a result, or read by another nest.
bool leaves_nest(const Schedule& schedule, std::size_t writer);

/// The same with one thread where each had a copy of what it writes.
Schedule without_private_copies(Schedule schedule);

/// Dimensions of the largest intermediate that the schedule stores: its modes without the loops that its writer, its
/// readers and everything between share. 0 without intermediates.
std::uint32_t workspace_order(const Schedule& schedule);

/// Occurrences of an operand in one layout become one tensor; names keep their order.
Schedule merge_layouts(Schedule schedule);

}  // namespace weft
