#include "engine/codegen/codegen.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>

#include "engine/codegen/emit_object.h"
#include "engine/codegen/generate.h"
#include "engine/codegen/target.h"
#include "engine/loop/rules.h"
#include "runtime/foreign_code.h"

namespace weft {

namespace {

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

Expected<std::unique_ptr<llvm::Module>> generate_verified(const loop::Program& program, const Target& target,
                                                          const CodeOptions& options, llvm::LLVMContext& context) {
  if (Expected<void> possible = loop::check_built(program); !possible) return std::unexpected(possible.error());
  const unsigned bits = vector_bits(target);
  if (bits == 0) return unsupported("no code generator for the machine '" + target.text() + "'");
  std::unique_ptr<llvm::Module> module = generate(program, target, bits, options, context);
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (llvm::verifyModule(*module, &stream))
    return internal_error("the generated code is malformed: " + complaint + "\nof the program\n" +
                          loop::print(program));
  return module;
}

Expected<std::string> machine_code(const loop::Program& program, const Target& target, const CodeOptions& options,
                                   EmittedForm form, CompileTimes* times, const TargetMachines* machines) {
  const ForeignCode scope;
  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  const Clock::time_point start = Clock::now();
  llvm::LLVMContext context;
  Expected<std::unique_ptr<llvm::Module>> module = generate_verified(program, target, options, context);
  if (!module) return std::unexpected(module.error());
  const Clock::time_point generated = Clock::now();
  Expected<std::string> code = emit_machine_code(**module, target, form, machines);
  if (times) *times = {milliseconds(generated - start), milliseconds(Clock::now() - generated)};
  return code;
}

}  // namespace

Expected<ObjectCode> compile(const loop::Program& program, const Target& target, const CodeOptions& options,
                             CompileTimes* times, const TargetMachines* machines) {
  Expected<std::string> bytes = machine_code(program, target, options, EmittedForm::object, times, machines);
  if (!bytes) return std::unexpected(bytes.error());
  return ObjectCode{std::move(*bytes)};
}

Expected<std::string> llvm_text(const loop::Program& program, const Target& target, const CodeOptions& options) {
  const ForeignCode scope;
  llvm::LLVMContext context;
  Expected<std::unique_ptr<llvm::Module>> module = generate_verified(program, target, options, context);
  if (!module) return std::unexpected(module.error());
  return text_of(**module);
}

Expected<std::string> assembly_text(const loop::Program& program, const Target& target, const CodeOptions& options) {
  return machine_code(program, target, options, EmittedForm::assembly, nullptr, nullptr);
}

}  // namespace weft
