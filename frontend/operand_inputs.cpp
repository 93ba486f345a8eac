#include "frontend/operand_inputs.h"

#include "engine/plan/expected_bytes.h"
#include "runtime/layouts.h"

namespace weft {

Expected<OperandInputs> operand_inputs(const Tensors& tensors, const Resources& resources) {
  OperandInputs inputs;
  for (const auto& [name, tensor] : tensors) {
    if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
    inputs.emplace(name, OperandInput{statistics(tensor, resources), tensor.bytes(), &tensor});
  }
  return inputs;
}

Expected<Tensors> in_pinned_layouts(const Tensors& tensors, const std::map<std::string, Format>& formats, const Resources& resources) {
  Tensors pinned = tensors;
  for (const auto& [name, format] : formats) {
    const auto operand = pinned.find(name);
    if (operand == pinned.end()) continue;
    const Format& stored = operand->second.format();
    if (stored.order() != format.order() || stored.text() == format.text()) continue;
    Format wanted = format;
    wanted.scalar = stored.scalar;
    auto layout = laid_out(operand->second, wanted, false, resources, name);
    if (!layout) return std::unexpected(std::move(layout.error()));
    operand->second = std::move(layout->tensor);
  }
  return pinned;
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
