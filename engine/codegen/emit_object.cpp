#include "engine/codegen/emit_object.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>

#include "engine/codegen/target_machines.h"
#include "runtime/headroom.h"

namespace weft {

namespace {

// Measured (engine/codegen/README.md): 2.4 MB for the first of a process, and up to 1.4 KB per instruction.
constexpr std::uint64_t emitting_bytes = 8 << 20;
constexpr std::uint64_t emitting_bytes_per_instruction = 3 << 10;

/// Hands the target's passes on, but leaves out three that cost a quarter of the compile time and gain nothing on code
/// whose addresses and loops the generator has already written as they should be (the second prepares the first).
/// LLVM's own switches for this are options of the whole process, which belongs to the host.
class SelectedPasses final : public llvm::legacy::PassManagerBase {
 public:
  explicit SelectedPasses(llvm::legacy::PassManager& all) : all_(all) {}
  void add(llvm::Pass* pass) override {
    const llvm::StringRef name = pass->getPassName();
    if (name == "Loop Strength Reduction" || name == "Canonicalize Freeze Instructions in Loops" ||
        pass->getPassID() == &llvm::MachineSchedulerID)
      delete pass;
    else
      all_.add(pass);
  }

 private:
  llvm::legacy::PassManager& all_;
};

}  // namespace

Expected<std::string> emit_machine_code(llvm::Module& module, const Target& target, EmittedForm form,
                                        const TargetMachines* machines) {
  const auto room = Headroom::take(emitting_bytes + emitting_bytes_per_instruction * module.getInstructionCount(),
                                   "writing machine code");
  if (!room) return std::unexpected(room.error());
  Expected<LentMachine> machine = LentMachine::take(target, machines);
  if (!machine) return std::unexpected(machine.error());
  module.setDataLayout((*machine)->createDataLayout());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  // Comments: the blocks' names, which tell the loop, and how deep it lies. The machine is lent, so it gets its own back.
  llvm::MCTargetOptions& text = (*machine)->Options.MCOptions;
  const bool was_verbose = text.AsmVerbose;
  text.AsmVerbose = form == EmittedForm::assembly;
  llvm::legacy::PassManager passes;
  SelectedPasses selected(passes);
  const auto type =
      form == EmittedForm::object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(selected, stream, nullptr, type))
    return internal_error("LLVM cannot write machine code for " + target.triple);
  passes.run(module);
  text.AsmVerbose = was_verbose;
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace weft
