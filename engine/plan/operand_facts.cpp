#include "engine/plan/operand_facts.h"

#include "engine/plan/expected_bytes.h"

namespace weft {

OperandFacts operand_facts(const Tensor& tensor, const Resources& resources) {
  OperandFacts facts{.format = tensor.format(), .statistics = statistics(tensor, resources), .bytes = tensor.bytes()};
  facts.stored = &tensor;
  return facts;
}

OperandFacts operand_facts(const Statistics& statistics) {
  const auto bytes = static_cast<std::uint64_t>(stored_bytes(statistics.format(), statistics));
  return {.format = statistics.format(), .statistics = statistics, .bytes = bytes};
}

}  // namespace weft
