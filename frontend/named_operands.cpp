#include "frontend/named_operands.h"

#include <fmt/format.h>

#include "engine/level_figures.h"
#include "runtime/layouts.h"

namespace weft {
std::unexpected<Error> unknown_without_tensor(const Format& format, std::string_view name) {
  return fail(ErrorKind::unsupported, ErrorCode::option, name,
              fmt::format("{} in the layout {}: figures alone do not tell how its levels are filled; give the tensor, blocks such as "
                          "bcsr(4,4), or a plain format such as ds",
                          name, format.text()));
}

Expected<NamedFacts> named_facts(const Tensors& tensors, const Resources& resources) {
  NamedFacts facts;
  for (const auto& [name, tensor] : tensors) {
    if (auto valid = verify_once(tensor, resources, name); !valid) return std::unexpected(valid.error());
    facts.emplace(name, operand_facts(tensor, resources));
  }
  return facts;
}

Expected<NamedFacts> in_pinned_formats(NamedFacts operands, const std::map<std::string, Format>& formats,
                                       const Resources& resources, Tensors& layouts) {
  for (auto& [name, operand] : operands) {
    const auto pinned = formats.find(name);
    if (pinned == formats.end()) continue;
    const Format& given = operand.format;
    Format format = pinned->second;
    format.scalar = given.scalar;
    if (format.text() == given.text() || format.modes() != given.modes()) continue;
    if (operand.stored == nullptr) {
      // What its levels hold is told when they are exposed.
      if (format.layout) operand.format = format;
      else operand = operand_facts(told_in(operand.statistics, format));
      continue;
    }
    auto layout = laid_out(*operand.stored, format, false, resources, name);
    if (!layout) {
      Error& error = layout.error();
      if (error.kind == ErrorKind::input || error.kind == ErrorKind::unsupported) {
        error.option = "formats";
        if (error.operand.empty()) error.operand = name;
        if (error.code == ErrorCode::other) error.code = ErrorCode::option;
      }
      return std::unexpected(std::move(error));
    }
    const Tensor& stored = layouts[name] = std::move(layout->tensor);
    operand = operand_facts(stored, resources);
    operand.laid_out = true;
  }
  return operands;
}

NamedFacts named_facts(const std::map<std::string, Statistics>& statistics) {
  NamedFacts facts;
  for (const auto& [name, known] : statistics) facts.emplace(name, operand_facts(known));
  return facts;
}

}  // namespace weft
