#include "engine/plan/problem.h"

namespace weft {

PlanOptions::PlanOptions() = default;
PlanOptions::PlanOptions(const PlanOptions&) = default;
PlanOptions::PlanOptions(PlanOptions&&) noexcept = default;
PlanOptions& PlanOptions::operator=(const PlanOptions&) = default;
PlanOptions& PlanOptions::operator=(PlanOptions&&) noexcept = default;
PlanOptions::~PlanOptions() = default;

const OperandFacts& facts_of(const std::vector<OperandFacts>& operands, TensorId tensor) {
  return *std::ranges::find(operands, tensor, &OperandFacts::tensor);
}

bool has_facts(const std::vector<OperandFacts>& operands, TensorId tensor) {
  return std::ranges::find(operands, tensor, &OperandFacts::tensor) != operands.end();
}

bool any_cancelled(const std::vector<Cancellation>& tokens) {
  return std::ranges::any_of(tokens, [](const Cancellation& token) { return token.cancelled(); });
}

}  // namespace weft
