#include "engine/plan/schedule/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/schedule/forest.h"
#include "engine/plan/schedule/result_format.h"
#include "engine/plan/schedule/widths.h"
#include "runtime/level_traits.h"
#include "runtime/open_levels.h"

namespace weft {

std::unexpected<Error> illegal(const std::string& what) { return input_error("schedule: " + what); }

std::unexpected<Error> illegal(std::size_t statement, const std::string& what) {
  return input_error(fmt::format("schedule, statement {}: {}", statement + 1, what));
}

namespace {

Expected<void> check_operand(const ScheduledTensor& tensor, const std::vector<OperandFacts>& operands) {
  const OperandFacts& facts = facts_of(operands, tensor.tensor);
  if (tensor.format.scalar != facts.format.scalar) {
    return illegal(fmt::format("{} is {} but its layout says {}", tensor.name, name(facts.format.scalar),
                               name(tensor.format.scalar)));
  }
  if (!tensor.converted) {
    if (same_layout(tensor.format, facts.format)) return {};
    return illegal(fmt::format("{} is stored as {} but its layout is {}: mark it as converted", tensor.name, facts.format.text(),
                               tensor.format.text()));
  }
  if (facts.pinned) {
    return illegal(fmt::format("the layout {} of {} is pinned but it is converted to {}", facts.format.text(), tensor.name,
                               tensor.format.text()));
  }
  if (tensor.opened && !opens_levels(facts.format, tensor.format)) {
    return illegal(fmt::format("{} cannot be opened from {} to {}: only leading compressed levels become dense, above one that "
                               "stays compressed; mark it as converted", tensor.name, facts.format.text(), tensor.format.text()));
  }
  for (const Level& level : tensor.format.levels) {
    if (is_listed(level.kind)) {
      return illegal(fmt::format("{} is converted to {}, whose levels are not those of an operand", tensor.name,
                                 tensor.format.text()));
    }
  }
  const bool dense = facts.format.all_dense() && tensor.format.all_dense();
  const bool sparse = tensor.format.order() > 0 && is_sparse(tensor.format.levels.back().kind);
  if (!dense && !(sparse && is_sparse(facts.format.levels.back().kind))) {
    return illegal(fmt::format("converting {} from {} to {} would confuse absent entries with zeros", tensor.name,
                               facts.format.text(), tensor.format.text()));
  }
  return {};
}

// Roles, formats and names of the tensors; conversions; formats of results.
Expected<void> check_tensors(const Schedule& schedule, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  std::size_t results = 0;
  for (const ScheduledTensor& tensor : schedule.tensors) {
    if (tensor.role != TensorRole::intermediate && tensor.tensor >= network.tensors.size())
      return illegal(fmt::format("{} is no tensor of the expression", tensor.name));
    const std::size_t modes = tensor.role == TensorRole::intermediate ? tensor.modes.size() : network.tensors[tensor.tensor].extents.size();
    if (tensor.format.order() != modes || tensor.format.mode_order.size() != modes) {
      return illegal(fmt::format("{} has {} modes but its layout {} has {} levels", tensor.name, modes, tensor.format.text(),
                                 tensor.format.order()));
    }
    if (auto wide = check_widths(tensor, network); !wide) return wide;
    if (tensor.role == TensorRole::operand) {
      if (!has_facts(operands, tensor.tensor)) return illegal(fmt::format("{} is not an operand", tensor.name));
      if (auto done = check_operand(tensor, operands); !done) return done;
      continue;
    }
    if (tensor.role == TensorRole::intermediate) {
      if (members(index_set(tensor.modes)).size() != modes)
        return illegal(fmt::format("an index stands twice in intermediate {}", tensor.name));
      continue;
    }
    ++results;
    if (network.assignments[0].result.tensor != tensor.tensor)
      return illegal(fmt::format("{} is not the result of the expression", tensor.name));
    if (auto done = check_result(schedule, tensor, problem); !done) return done;
  }
  if (results != 1) return illegal(fmt::format("{} lines 'result', expected one", results));
  return {};
}

// Requested results are stored as results, and nothing else is.
Expected<void> check_wanted(const Schedule& schedule, const Network& given, const PlanOptions& options) {
  for (const Assignment& assignment : given.assignments) {
    const std::string& name = given.tensors[assignment.result.tensor].name;
    const bool is_result = std::ranges::any_of(schedule.tensors, [&](const ScheduledTensor& tensor) {
      return tensor.role == TensorRole::result && tensor.tensor == assignment.result.tensor;
    });
    if (is_result == is_wanted(name, given, options)) continue;
    if (!is_result) return illegal(fmt::format("the result {} is not stored", name));
    return illegal(fmt::format("{} is stored as a result, but nobody asked for it: make it an intermediate, or name it among the "
                               "results", name));
  }
  return {};
}

// A later assignment reads the entries that are handed over: zeros of dense levels count as stored.
Expected<void> check_read(const Schedule& schedule, const std::vector<ForestPart>& parts) {
  for (const ScheduledTensor& result : schedule.tensors) {
    if (result.role != TensorRole::result || !result.delivered || may_be_delivered(*result.delivered, result.format)) continue;
    for (const ForestPart& part : parts) {
      if (!reads(part.network.assignments.front(), result.tensor)) continue;
      return illegal(fmt::format("{} computed as {} lacks the zeros that {} stores, and a later assignment reads it: compute it "
                                 "with the same dense levels at the end", result.name, result.format.text(),
                                 result.delivered->text()));
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
      const TensorId result = part.network.assignments[0].result.tensor;
      done.error().message += fmt::format("\nin the assignment to {}", part.network.tensors[result].name);
      return done;
    }
  }
  if (auto done = check_read(schedule, *parts); !done) return done;
  std::size_t roots = 0;
  for (const ForestPart& part : *parts) roots += part.schedule.roots.size();
  if (roots != schedule.roots.size()) return illegal("more lines 'parallel' than loop nests");
  // A stored assignment that is not asked for is an intermediate: absent where nothing was accumulated.
  return check_presence(schedule, network, operands);
}

Expected<void> check(const Schedule& schedule, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  if (auto done = check_plannable(problem); !done) return done;
  if (network.assignments.size() > 1) return check_forest(schedule, problem);
  if (auto done = check_tensors(schedule, problem); !done) return done;
  if (auto done = check_products(schedule, network); !done) return done;
  if (auto done = check_loops(schedule, network, options); !done) return done;
  if (auto done = check_sparse(schedule, network); !done) return done;
  if (auto done = check_roots(schedule, network, options); !done) return done;
  return check_presence(schedule, network, operands);
}

}  // namespace weft
