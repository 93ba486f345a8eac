// The rules of schedules of several assignments.
#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/schedule/append_order.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/forest.h"

namespace weft {
namespace {

// Requested results are stored as results, and nothing else is.
Expected<void> check_wanted(const Schedule& schedule, const Network& given, const PlanOptions& options) {
  for (const Assignment& assignment : given.assignments) {
    const std::string& name = given.tensors[assignment.result.tensor].name;
    const bool is_result = std::any_of(schedule.tensors.begin(), schedule.tensors.end(), [&](const ScheduledTensor& tensor) {
      return tensor.role == TensorRole::result && tensor.tensor == assignment.result.tensor;
    });
    if (is_result == is_wanted(name, given, options)) continue;
    return input_error(is_result ? fmt::format("schedule: {} is stored as a result, but nobody asked for it: make it an "
                                               "intermediate, or name it among the results",
                                               name)
                                 : fmt::format("schedule: the result {} is not stored", name));
  }
  return {};
}

// A later assignment reads the entries that are handed over: zeros of dense levels count as stored.
Expected<void> check_read(const Schedule& schedule, const std::vector<ForestPart>& parts) {
  for (const ScheduledTensor& result : schedule.tensors) {
    if (result.role != TensorRole::result || !result.delivered || may_be_delivered(*result.delivered, result.format)) continue;
    for (const ForestPart& part : parts) {
      if (!reads(part.network.assignments.front(), result.tensor)) continue;
      return input_error(fmt::format("schedule: {} computed as {} lacks the zeros that {} stores, and a later assignment reads it: "
                                     "compute it with the same dense levels at the end",
                                     result.name, result.format.text(), result.delivered->text()));
    }
  }
  return {};
}

}  // namespace

Expected<void> check_forest(const Schedule& schedule, const Problem& problem) {
  const auto& [given, operands, options] = problem;
  if (auto done = check_wanted(schedule, given, options); !done) return done;
  const Network network = scheduled_network(schedule, given);
  PlanOptions of_parts = options;
  of_parts.tree.reset();
  if (network.assignments.size() == 1) return check(schedule, Problem{network, operands, of_parts});
  const auto parts = forest_parts(schedule, network, operands);
  if (!parts) return std::unexpected(parts.error());
  for (const ForestPart& part : *parts) {
    if (auto done = check(part.schedule, Problem{part.network, part.operands, of_parts}); !done) {
      // The rules count statements within their assignment.
      done.error().message += fmt::format("\nin the assignment to {}",
                                          part.network.tensors[part.network.assignments[0].result.tensor].name);
      return done;
    }
  }
  if (auto done = check_read(schedule, *parts); !done) return done;
  std::size_t roots = 0;
  for (const ForestPart& part : *parts) roots += part.schedule.roots.size();
  if (roots != schedule.roots.size()) return input_error("schedule: more lines 'parallel' than loop nests");
  // A stored assignment that is not asked for is an intermediate: absent where nothing was accumulated.
  return check_presence(schedule, network, operands);
}

}  // namespace weft
