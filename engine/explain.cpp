// The stages of a kernel as text.
#include <fmt/format.h>

#include "engine/compiled_state.h"

namespace weft {

Expected<std::string> CompiledNetwork::explain(const std::string& stage) const {
  const State& kernel = *state_;
  if (stage == "network") return print(kernel.given) + "\n";
  if (stage == "schedule") return print(kernel.plan.schedule, kernel.network);
  if (stage == "tree") return print_trees(kernel.plan.schedule, kernel.network) + "\n";
  std::string text;
  for (const CompiledNest& nest : kernel.nests) {
    Expected<std::string> part = std::string();
    if (stage == "loops") {
      part = loop::print(nest.nest.program);
    } else if (stage == "signature") {
      part = print(nest.signature, loop::with_names(nest.canonical, nest.nest.program));
    } else if (stage == "llvm") {
      part = llvm_text(loop::with_names(nest.canonical, nest.nest.program), kernel.target, kernel.code);
    } else if (stage == "asm") {
      part = assembly_text(loop::with_names(nest.canonical, nest.nest.program), kernel.target, kernel.code);
    } else if (stage == "object") {
      auto object = weft::compile(nest.canonical.program, kernel.target, kernel.code);
      if (!object) return std::unexpected(object.error());
      part = std::move(object->bytes);
    } else {
      return input_error(fmt::format(
          "no stage '{}'; stages are network, tree, schedule, loops, signature, llvm, asm, object", stage));
    }
    if (!part) return part;
    text += *part;
  }
  return text;
}

}  // namespace weft
