#include "frontend/named_operands.h"

#include "runtime/layouts.h"

namespace weft {

Expected<NamedFacts> named_facts(const Tensors& tensors, const Resources& resources) {
  NamedFacts facts;
  for (const auto& [name, tensor] : tensors) {
    if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
    facts.emplace(name, operand_facts(tensor, resources));
  }
  return facts;
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

NamedFacts named_facts(const std::map<std::string, Statistics>& statistics) {
  NamedFacts facts;
  for (const auto& [name, known] : statistics) facts.emplace(name, operand_facts(known));
  return facts;
}

}  // namespace weft
