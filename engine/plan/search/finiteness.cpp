#include "engine/plan/search/finiteness.h"

#include <algorithm>

#include "engine/plan/schedule/check.h"
#include "engine/plan/schedule/statements.h"

namespace weft {

std::vector<OperandFacts> assumed_finite(std::vector<OperandFacts> operands) {
  for (OperandFacts& operand : operands) {
    if (!operand.counted) operand.counted = OperandFacts::Counted{operand.statistics, operand.bytes};
    operand.statistics = operand.statistics.with_finite(operand.looks != Looks::never);
  }
  return operands;
}

std::vector<OperandFacts> as_they_are(std::vector<OperandFacts> operands) {
  for (OperandFacts& operand : operands)
    operand.statistics = operand.statistics.with_finite(operand.looks != Looks::never && operand.exact().finite());
  return operands;
}

std::set<TensorId> finite_operands_needed(const Schedule& schedule, const Network& given, const std::vector<OperandFacts>& operands) {
  const Network network = scheduled_network(schedule, given);
  // Absent entries annihilate only where these operands are read.
  std::vector<std::uint32_t> cannot_tell;
  for (std::uint32_t tensor = 0; tensor < schedule.tensors.size(); ++tensor) {
    const ScheduledTensor& declared = schedule.tensors[tensor];
    if (declared.role != TensorRole::intermediate) continue;
    if (declared.format.order() == 0 || !knows_its_entries(schedule, network, tensor)) cannot_tell.push_back(tensor);
  }
  std::set<TensorId> needed;
  if (cannot_tell.empty()) return needed;
  std::vector<OperandFacts> known = operands;
  const auto annihilated = [&] {
    for (OperandFacts& operand : known) operand.statistics = operand.statistics.with_finite(needed.contains(operand.tensor));
    const auto others = annihilated_tensors(schedule, finite_tensors(schedule, known));
    std::vector<bool> told;
    for (const std::uint32_t tensor : cannot_tell) told.push_back(others[tensor].has_value());
    return told;
  };
  for (const OperandFacts& operand : operands) {
    if (operand.statistics.finite()) needed.insert(operand.tensor);
  }
  const std::vector<bool> expected = annihilated();
  for (const OperandFacts& operand : operands) {
    if (needed.erase(operand.tensor) > 0 && annihilated() != expected) needed.insert(operand.tensor);
  }
  return needed;
}

std::vector<OperandFacts> vouched_for(std::vector<OperandFacts> operands, const Network& network, const std::set<std::string>& names) {
  for (OperandFacts& operand : operands) {
    if (!names.contains(network.tensors[operand.tensor].name)) continue;
    operand.looks = Looks::once;
    operand.statistics = operand.statistics.with_finite(true);
    if (operand.counted) operand.counted->statistics = operand.counted->statistics.with_finite(true);
  }
  return operands;
}

namespace {

constexpr double dear_share = 0.02;  // of a run

double looking_ns(const OperandFacts& operand, const Machine& machine) {
  if (operand.looks != Looks::always) return 0;
  const double values = operand.statistics.nnz() * static_cast<double>(scalar_bytes(operand.format.scalar));
  const double bytes = std::min(values, static_cast<double>(operand.exact_bytes()));
  return bytes / machine.stream[machine.cache_level(bytes)];
}

}  // namespace

double looking_ns(const std::set<TensorId>& needed, const std::vector<OperandFacts>& operands, const Machine& machine) {
  double ns = 0;
  for (const OperandFacts& operand : operands) {
    if (needed.contains(operand.tensor)) ns += looking_ns(operand, machine);
  }
  return ns;
}

std::set<TensorId> dear_looks(const std::set<TensorId>& needed, const std::vector<OperandFacts>& operands, double ns,
                              const Machine& machine) {
  std::set<TensorId> dear;
  for (const OperandFacts& operand : operands) {
    if (needed.contains(operand.tensor) && looking_ns(operand, machine) > dear_share * ns) dear.insert(operand.tensor);
  }
  return dear;
}

std::vector<OperandFacts> without_looks(std::vector<OperandFacts> operands, const std::set<TensorId>& at) {
  for (OperandFacts& operand : operands) {
    if (!at.contains(operand.tensor)) continue;
    operand.looks = Looks::never;
    operand.statistics = operand.statistics.with_finite(false);
  }
  return operands;
}

std::set<TensorId> operands_of(const Schedule& schedule, std::uint32_t tensor) {
  if (schedule.tensors[tensor].role == TensorRole::operand) return {schedule.tensors[tensor].tensor};
  std::set<TensorId> found;
  for (const ScheduledAccess& factor : schedule.statements[writer_of(schedule, tensor)].factors)
    found.merge(operands_of(schedule, factor.tensor));
  return found;
}

bool are_finite(const std::set<TensorId>& needed, std::vector<OperandFacts>& operands) {
  bool finite = true;
  for (OperandFacts& operand : operands) {
    if (!needed.contains(operand.tensor)) continue;
    Statistics& exact = operand.counted ? operand.counted->statistics : operand.statistics;
    exact = exact.with_finite(exact.finite());
    finite = finite && exact.finite();
  }
  return finite;
}

Expected<Plan> plan_by_need(std::vector<OperandFacts>& operands, const Network& network, const Machine& machine,
                            const std::function<Expected<Plan>()>& planner) {
  operands = assumed_finite(std::move(operands));
  Expected<Plan> plan = planner();
  if (!plan) return plan;
  std::set<TensorId> needed = finite_operands_needed(plan->schedule, network, operands);
  std::set<TensorId> dear = dear_looks(needed, operands, plan->cost.ns, machine);
  double least_ns = plan->cost.ns + looking_ns(needed, operands, machine);
  std::vector<OperandFacts> chosen = operands;
  while (!dear.empty()) {
    operands = without_looks(std::move(operands), dear);
    Expected<Plan> other = planner();
    if (!other) break;
    std::set<TensorId> rests_on = finite_operands_needed(other->schedule, network, operands);
    dear = dear_looks(rests_on, operands, other->cost.ns, machine);
    const double ns = other->cost.ns + looking_ns(rests_on, operands, machine);
    if (ns >= least_ns) continue;
    least_ns = ns;
    plan = std::move(other);
    needed = std::move(rests_on);
    chosen = operands;
  }
  operands = std::move(chosen);
  if (are_finite(needed, operands)) return plan;
  operands = as_they_are(std::move(operands));
  return planner();
}

}  // namespace weft
