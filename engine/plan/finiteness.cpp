#include "engine/plan/finiteness.h"

#include <algorithm>

#include "engine/plan/check.h"
#include "engine/plan/statements.h"

namespace weft {

std::vector<OperandFacts> assumed_finite(std::vector<OperandFacts> operands) {
  for (OperandFacts& operand : operands) {
    if (!operand.counted) operand.counted = OperandFacts::Counted{operand.statistics, operand.bytes};
    operand.statistics = operand.statistics.with_finite(true);
  }
  return operands;
}

std::vector<OperandFacts> as_they_are(std::vector<OperandFacts> operands) {
  for (OperandFacts& operand : operands) operand.statistics = operand.statistics.with_finite(operand.exact().finite());
  return operands;
}

std::set<TensorId> finite_operands_needed(const Schedule& schedule, const Network& given, const std::vector<OperandFacts>& operands) {
  const Network network = scheduled_network(schedule, given);
  // What is absent annihilates only where these are concerned.
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
    operand.statistics = operand.statistics.with_finite(true);
    if (operand.counted) operand.counted->statistics = operand.counted->statistics.with_finite(true);
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

}  // namespace weft
