#include "engine/codegen/codegen.h"

#include <llvm/IR/AssemblyAnnotationWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/FormattedStream.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <limits>
#include <map>

#include "engine/codegen/baked_size.h"
#include "engine/codegen/emit.h"
#include "engine/codegen/emit_object.h"
#include "engine/codegen/generate.h"
#include "engine/codegen/target.h"
#include "engine/codegen/target_machines.h"
#include "engine/loop/rules.h"
#include "runtime/headroom.h"

namespace weft {

namespace {

// Measured (README.md): a third of a KB per character of the program's text, and up to 1.1 KB per instruction where loops are unrolled over
// a pattern.
constexpr std::uint64_t generating_bytes = 4 << 20;
constexpr std::uint64_t generating_bytes_per_character = 1 << 10;
constexpr std::uint64_t generating_bytes_per_baked_size = 2 << 10;

/// Before anything of LLVM's is made for the program, which has to be gone before this.
Expected<Headroom> room_for_generating(const loop::Program& program, const CodeOptions& options) {
  const std::uint64_t baked = options.patterns ? baked_size(program, options, std::numeric_limits<std::uint64_t>::max()) : 0;
  return Headroom::take(generating_bytes + loop::print(program).size() * generating_bytes_per_character +
                            baked * generating_bytes_per_baked_size,
                        "generating code");
}

/// Writes the loop that a block belongs to below its label, "; for i: drive T, locate x", and leaves its role as the label: "body".
class LoopComments final : public llvm::AssemblyAnnotationWriter {
 public:
  explicit LoopComments(llvm::Module& module) {
    for (llvm::Function& function : module) {
      for (llvm::BasicBlock& block : function) {
        const auto [loop, role] = block.getName().rsplit(loop_and_role);
        if (role.empty()) continue;
        loops_[&block] = loop.str();
        block.setName(role.str());
      }
    }
  }
  void emitBasicBlockStartAnnot(const llvm::BasicBlock* block, llvm::formatted_raw_ostream& stream) override {
    if (const auto found = loops_.find(block); found != loops_.end()) stream << "  ; " << found->second << '\n';
  }

 private:
  std::map<const llvm::BasicBlock*, std::string> loops_;
};

std::string text_of(llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  LoopComments comments(module);
  module.print(stream, &comments);
  return text;
}

Expected<std::unique_ptr<llvm::Module>> generate_verified(const loop::Program& program, const Target& target,
                                                          const CodeOptions& options, llvm::LLVMContext& context,
                                                          const TargetMachines* machines = nullptr) {
  if (Expected<void> possible = loop::check_built(program); !possible) return std::unexpected(possible.error());
  const unsigned bits = known_vector_bits(target, machines);
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
  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::duration time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  const Clock::time_point start = Clock::now();
  const auto room = room_for_generating(program, options);
  if (!room) return std::unexpected(room.error());
  llvm::LLVMContext context;
  context.setDiscardValueNames(form == EmittedForm::object);  // they are for people
  Expected<std::unique_ptr<llvm::Module>> module = generate_verified(program, target, options, context, machines);
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
  const auto room = room_for_generating(program, options);
  if (!room) return std::unexpected(room.error());
  llvm::LLVMContext context;
  Expected<std::unique_ptr<llvm::Module>> module = generate_verified(program, target, options, context);
  if (!module) return std::unexpected(module.error());
  return text_of(**module);
}

Expected<std::string> assembly_text(const loop::Program& program, const Target& target, const CodeOptions& options) {
  return machine_code(program, target, options, EmittedForm::assembly, nullptr, nullptr);
}

}  // namespace weft
