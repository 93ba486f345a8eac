// The stages of a kernel as text.
#include "engine/compiled_state.h"
#include "engine/prove/kernel_proofs.h"

namespace weft {

namespace {

Expected<std::string> proofs_of(const CompiledNest& nest, ProofBook& book) {
  const auto proofs = kernel_proofs(nest.nest.program, book);
  if (!proofs) return std::unexpected(proofs.error());
  return proofs_text(nest.nest.program, *proofs);
}

Expected<std::string> text_of(const CompiledNest& nest, Stage stage, const Target& target, const CodeOptions& code) {
  const auto named = [&] { return loop::with_names(nest.canonical, nest.nest.program); };
  switch (stage) {
    case Stage::signature: return print(nest.signature, named());
    case Stage::llvm: return llvm_text(named(), target, code);
    case Stage::assembly: return assembly_text(named(), target, code);
    case Stage::object: {
      auto object = weft::compile(nest.canonical.program, target, code);
      if (!object) return std::unexpected(object.error());
      return std::move(object->bytes);
    }
    default: return loop::print(nest.nest.program);
  }
}

}  // namespace

Expected<std::string> CompiledNetwork::explain(Stage stage) const {
  const State& kernel = *state_;
  switch (stage) {
    case Stage::network: return print(kernel.exposure ? kernel.exposure->given : kernel.given) + "\n";
    case Stage::schedule: return weft::with_stated_formats(print(kernel.plan.schedule, kernel.network), kernel.stated);
    case Stage::tree: return print_trees(kernel.plan.schedule, kernel.network) + "\n";
    default: break;
  }
  std::string text;
  for (const CompiledNest& nest : kernel.nests) {
    auto part = stage == Stage::proofs ? proofs_of(nest, *kernel.book) : text_of(nest, stage, kernel.target, kernel.code);
    if (!part) return part;
    text += *part;
  }
  return text;
}

}  // namespace weft
