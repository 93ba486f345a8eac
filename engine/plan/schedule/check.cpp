#include "engine/plan/schedule/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/schedule/append_order.h"
#include "engine/plan/schedule/binding.h"
#include "engine/plan/schedule/schedule_text.h"
#include "engine/plan/schedule/statements.h"
#include "engine/plan/schedule/widths.h"
#include "runtime/level_traits.h"
#include "runtime/open_levels.h"

namespace weft {
std::string place(std::size_t statement) { return fmt::format("schedule, statement {}: ", statement + 1); }

namespace {

Expected<void> check_operand(const ScheduledTensor& tensor, const std::vector<OperandFacts>& operands) {
  const OperandFacts& facts = facts_of(operands, tensor.tensor);
  if (tensor.format.scalar != facts.format.scalar) {
    return input_error(fmt::format("schedule: {} is {} but its layout says {}", tensor.name, name(facts.format.scalar),
                                   name(tensor.format.scalar)));
  }
  if (!tensor.converted) {
    if (same_layout(tensor.format, facts.format)) return {};
    return input_error(fmt::format("schedule: {} is stored as {} but its layout is {}: mark it as converted",
                                   tensor.name, facts.format.text(), tensor.format.text()));
  }
  if (facts.pinned) {
    return input_error(fmt::format("schedule: the layout {} of {} is pinned but it is converted to {}",
                                   facts.format.text(), tensor.name, tensor.format.text()));
  }
  if (tensor.opened && !opens_levels(facts.format, tensor.format)) {
    return input_error(fmt::format("schedule: {} cannot be opened from {} to {}: only leading compressed levels become "
                                   "dense, above one that stays compressed; mark it as converted",
                                   tensor.name, facts.format.text(), tensor.format.text()));
  }
  for (const Level& level : tensor.format.levels) {
    if (is_listed(level.kind)) {
      return input_error(fmt::format("schedule: {} is converted to {}, whose levels are not those of an operand",
                                     tensor.name, tensor.format.text()));
    }
  }
  const bool dense = facts.format.all_dense() && tensor.format.all_dense();
  const bool sparse = tensor.format.order() > 0 && is_sparse(tensor.format.levels.back().kind);
  if (!dense && !(sparse && is_sparse(facts.format.levels.back().kind))) {
    return input_error(fmt::format("schedule: converting {} from {} to {} would confuse absent entries with zeros",
                                   tensor.name, facts.format.text(), tensor.format.text()));
  }
  return {};
}

Expected<void> check_leaving(const Schedule& schedule, std::size_t first, std::size_t end) {
  std::vector<std::size_t> leaving;
  bool sparse = false;
  for (std::size_t number = first; number < end; ++number) {
    if (leaves_nest(schedule, number)) leaving.push_back(number);
    for (const ScheduledAccess& factor : schedule.statements[number].factors) {
      sparse = sparse || has_sparse_level(schedule.tensors[factor.tensor].format);
    }
  }
  if (leaving.size() < 2 || !sparse) return {};
  return input_error(fmt::format(
      "{}{} and {} both leave this loop nest, whose loops visit only what the sparse factors of both have: give one of "
      "them a nest of its own",
      place(leaving[1]), schedule.tensors[schedule.statements[leaving[0]].target.tensor].name,
      schedule.tensors[schedule.statements[leaving[1]].target.tensor].name));
}

}  // namespace

Expected<void> check_tensors(const Schedule& schedule, const Problem& problem) {
  const auto& [network, operands, options] = problem;
  std::size_t results = 0;
  for (const ScheduledTensor& tensor : schedule.tensors) {
    if (tensor.role != TensorRole::intermediate && tensor.tensor >= network.tensors.size()) {
      return input_error(fmt::format("schedule: {} is no tensor of the expression", tensor.name));
    }
    const std::size_t modes = tensor.role == TensorRole::intermediate ? tensor.modes.size() : network.tensors[tensor.tensor].extents.size();
    if (tensor.format.order() != modes || tensor.format.mode_order.size() != modes) {
      return input_error(fmt::format("schedule: {} has {} modes but its layout {} has {} levels", tensor.name, modes,
                                     tensor.format.text(), tensor.format.order()));
    }
    if (auto wide = check_widths(tensor, network); !wide) return wide;
    if (tensor.role == TensorRole::operand) {
      if (!has_facts(operands, tensor.tensor)) return input_error(fmt::format("schedule: {} is not an operand", tensor.name));
      if (auto done = check_operand(tensor, operands); !done) return done;
      continue;
    }
    if (tensor.role == TensorRole::intermediate) {
      if (members(index_set(tensor.modes)).size() != modes) {
        return input_error(fmt::format("schedule: an index stands twice in intermediate {}", tensor.name));
      }
      continue;
    }
    ++results;
    if (network.assignments[0].result.tensor != tensor.tensor) {
      return input_error(fmt::format("schedule: {} is not the result of the expression", tensor.name));
    }
    if (auto done = check_result(schedule, tensor, problem); !done) return done;
  }
  if (results != 1) return input_error(fmt::format("schedule: {} lines 'result', expected one", results));
  return {};
}

Expected<void> check_roots(const Schedule& schedule, const Network& network, const PlanOptions& options) {
  std::size_t root = 0;
  for (std::size_t first = 0; first < schedule.statements.size();) {
    const std::size_t end = last_sharer(schedule, first, 0) + 1;
    if (auto done = check_leaving(schedule, first, end); !done) return done;
    if (root == schedule.roots.size()) {
      return input_error(place(first) + "no line 'parallel' says how its loop nest is run");
    }
    const RootReduction reduction = schedule.roots[root++];
    if (reduction != RootReduction::serial && schedule.statements[first].loops.empty()) {
      return input_error(place(first) + "without loops it can only run serially");
    }
    if (reduction == RootReduction::private_copies && options.strict_fp) {
      return input_error(place(first) + "private copies add in another order, which strict floating point forbids");
    }
    for (std::size_t number = first; number < end && reduction != RootReduction::serial; ++number) {
      const ScheduledAccess& target = schedule.statements[number].target;
      const bool leaves = leaves_nest(schedule, number);
      const ScheduledTensor& tensor = schedule.tensors[target.tensor];
      const bool appended = leaves && !tensor.like && !tensor.format.all_dense();
      if (appended && reduction == RootReduction::private_copies) {
        return input_error(fmt::format("{}{} is appended to, which private copies of it cannot be", place(number), tensor.name));
      }
      if (leaves && !appended && reduction == RootReduction::counted) {
        return input_error(fmt::format("{}{} is not appended to, so that nothing is to be counted: run it owner", place(number),
                                       tensor.name));
      }
      if (appended && append_order(target.indices, tensor.format, schedule.statements[number].loops).direct == 0) {
        return input_error(fmt::format("{}threads that share this loop would append to {} out of order, whose first level "
                                       "is another: run it serial",
                                       place(number), tensor.name));
      }
      if (reduction == RootReduction::private_copies) continue;
      const IndexId index = schedule.statements[first].loops.front();
      if (leaves && !contains(index_set(target.indices), index)) {
        return input_error(fmt::format("{}{} has no index {}, so threads that share this loop would write the same "
                                       "entries: run it private or serial",
                                       place(number), tensor.name, network.indices[index].name));
      }
    }
    first = end;
  }
  if (root != schedule.roots.size()) return input_error("schedule: more lines 'parallel' than loop nests");
  return {};
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
