// Statements: the products that a contraction tree asks for, before anything is decided about loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan/index_set.h"
#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

struct ResultFormat;

/// What this planner can plan: assignments of one term each, at most 64 indices, dense results.
Expected<void> check_plannable(const Problem& problem);

/// A schedule of the first assignment with tensors and statements but no loops yet. Every occurrence of an operand has a tensor
/// of its own, in the order of the factors and in its given layout, so that layouts can be chosen per occurrence; intermediates
/// follow, then the result. Statements stand in the order of `order`: inner nodes of the tree, children first.
/// Intermediates are dense in ascending order of their indices. The root statement carries the coefficient.
Schedule statements_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                       const std::vector<OperandFacts>& operands, const PlanOptions& options);

/// The same with this way to store the result, the first of result_formats() above.
Schedule statements_of(const Network& network, const ContractionTree& tree, const std::vector<std::uint32_t>& order,
                       const std::vector<OperandFacts>& operands, const ResultFormat& result_format);

/// A name for one more intermediate: short, and of no tensor and no index.
std::string intermediate_name(const Network& network, const std::vector<ScheduledTensor>& tensors);

/// The inner nodes of a tree, each subtree in one piece (depth first): one order for every way to order the subtrees
/// with statements below each node, at most `limit`. A tree of one leaf has the order {leaf}.
std::vector<std::vector<std::uint32_t>> statement_orders(const ContractionTree& tree, std::size_t limit);

/// Whether a statement copies an operand into an intermediate, a mark array (space/mark_arrays.h): it multiplies and sums nothing.
bool is_mark_array_copy(const Schedule& schedule, std::size_t statement);

/// Every index of the target and the factors.
IndexSet indices_of(const ScheduledStatement& statement);

/// Number of the statement that writes, the first or the last that reads the tensor; statements.size() if none.
std::size_t writer_of(const Schedule& schedule, std::uint32_t tensor);
std::size_t reader_of(const Schedule& schedule, std::uint32_t tensor);
std::size_t last_reader_of(const Schedule& schedule, std::uint32_t tensor);

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
