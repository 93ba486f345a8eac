#include "engine/plan/problem.h"

#include "runtime/sparse_levels.h"

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

std::size_t sparse_factors(const Network& network, const std::vector<OperandFacts>& operands) {
  const auto sparse = [&](const TensorAccess& factor) { return has_sparse_level(facts_of(operands, factor.tensor).format); };
  return static_cast<std::size_t>(std::ranges::count_if(network.assignments.front().terms.front().factors, sparse));
}

bool any_cancelled(const std::vector<Cancellation>& tokens) {
  return std::ranges::any_of(tokens, [](const Cancellation& token) { return token.cancelled(); });
}

}  // namespace weft
