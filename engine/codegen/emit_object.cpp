#include "engine/codegen/emit_object.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include "engine/codegen/target.h"

namespace weft {

namespace {

/// For a target that has vector_bits.
Expected<std::unique_ptr<llvm::TargetMachine>> machine_for(const Target& target) {
  const llvm::Target* found = find_target(target.triple);
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(target.triple, target.cpu, target.features, llvm::TargetOptions(), llvm::Reloc::PIC_,
                                 std::nullopt, llvm::CodeGenOptLevel::Less, true));
  if (!machine) return internal_error("LLVM makes no code generator for " + target.text());
  return machine;
}

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

Expected<std::string> emit_machine_code(llvm::Module& module, const Target& target, EmittedForm form) {
  Expected<std::unique_ptr<llvm::TargetMachine>> machine = machine_for(target);
  if (!machine) return std::unexpected(machine.error());
  module.setDataLayout((*machine)->createDataLayout());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  SelectedPasses selected(passes);
  const auto type =
      form == EmittedForm::object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(selected, stream, nullptr, type))
    return internal_error("LLVM cannot write machine code for " + target.triple);
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace weft
