#include "frontend/operand_inputs.h"

#include "engine/plan/expected_bytes.h"

namespace weft {

Expected<OperandInputs> operand_inputs(const Tensors& tensors, const Resources& resources) {
  OperandInputs inputs;
  for (const auto& [name, tensor] : tensors) {
    if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
    inputs.emplace(name, OperandInput{statistics(tensor, resources), tensor.bytes(), &tensor});
  }
  return inputs;
}

OperandInputs operand_inputs(const std::map<std::string, Statistics>& statistics) {
  OperandInputs inputs;
  for (const auto& [name, known] : statistics) {
    const auto bytes = static_cast<std::uint64_t>(stored_bytes(known.format(), known));
    inputs.emplace(name, OperandInput{known, bytes, nullptr});
  }
  return inputs;
}

}  // namespace weft
