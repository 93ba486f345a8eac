// Forests: schedules of several assignments, taken apart into one part for each and put together again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/plan/problem.h"
#include "engine/plan/schedule/schedule.h"

namespace weft {

/// One stored assignment of a forest as if it were the whole evaluation: its network has this assignment alone, and the
/// results of earlier ones are operands. Tensors and indices keep their numbers.
struct ForestPart {
  Network network;
  std::vector<OperandFacts> operands;
  Schedule schedule;
  std::size_t first_statement = 0;  ///< in the schedule of the forest
};

/// The network of one assignment: the results of the others are declared as operands.
Network part_network(const Network& network, std::size_t assignment);

/// What later assignments know of a stored result: its layout is decided, a dense one stores every entry, a sparse one
/// the expected entries of its product; finite if all that it is made from (`known`) is.
OperandFacts stored_facts(const Network& network, const Assignment& assignment, const Format& format,
                          const std::vector<OperandFacts>& known);

/// Whether an assignment has the tensor as a factor, and how many of a network do.
bool reads(const Assignment& assignment, TensorId tensor);
std::size_t readers_of(const Network& network, TensorId tensor);

/// Calls with `known` and every way in which the earlier results that an assignment reads may be stored (`stored`, by assignment), until a
/// call says no: whether none did.
template <class Visit>
bool for_each_known(const Network& network, std::size_t assignment, const std::vector<std::vector<OperandFacts>>& stored,
                    const std::vector<OperandFacts>& known, const Visit& visit, std::size_t earlier = 0) {
  if (earlier == assignment) return visit(known);
  if (!reads(network.assignments[assignment], network.assignments[earlier].result.tensor))
    return for_each_known(network, assignment, stored, known, visit, earlier + 1);
  return std::ranges::all_of(stored[earlier], [&](const OperandFacts& facts) {
    std::vector<OperandFacts> more = known;
    more.push_back(facts);
    return for_each_known(network, assignment, stored, more, visit, earlier + 1);
  });
}

/// Names of the results that are wanted: those asked for, those with a requested format, and the last.
bool is_wanted(const std::string& name, const Network& network, const PlanOptions& options);

/// The results that are not, in order.
std::vector<TensorId> unwanted(const Network& network, const PlanOptions& options);

/// Assignments that are not computed: neither wanted nor read by one that is.
std::vector<TensorId> unneeded(const Network& network, const PlanOptions& options);

/// The parts of a schedule, one per assignment of `network`, which must be that of scheduled_network(). Input error
/// where trees are missing, statements of two assignments share loops or stand in another order than their assignments,
/// or a result is read where it is not yet stored.
Expected<std::vector<ForestPart>> forest_parts(const Schedule& schedule, const Network& network,
                                               const std::vector<OperandFacts>& operands);

/// The schedule of a forest from those of its parts, one per assignment of `network`. Operands in one layout become one
/// tensor; results that are not wanted become intermediates of their name.
Schedule joined(const std::vector<Schedule>& parts, const Network& network, const PlanOptions& options);

}  // namespace weft
