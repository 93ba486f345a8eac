// The stages of a kernel as text.
#include <fmt/format.h>

#include "engine/compiled_state.h"

namespace weft {
namespace {

// The canonical program with the names of the tensors and indices that it was made of: "values T", not "values t0".
loop::Program with_names(const loop::Canonical& canonical, const loop::Program& given) {
  loop::Program named = canonical.program;
  for (std::size_t number = 0; number < canonical.storages.size(); ++number) {
    named.storages[number].name = given.storages[canonical.storages[number]].name;
  }
  for (std::size_t number = 0; number < canonical.indices.size(); ++number) named.indices[number] = given.indices[canonical.indices[number]];
  return named;
}

}  // namespace

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
      part = print(nest.signature, with_names(nest.canonical, nest.nest.program));
    } else if (stage == "llvm") {
      part = llvm_text(nest.canonical.program, kernel.target, kernel.code);
    } else if (stage == "asm") {
      part = assembly_text(nest.canonical.program, kernel.target, kernel.code);
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
