#include "engine/codegen/emit_object.h"

#include <mutex>

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

namespace weft {

namespace {

void initialise_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

Expected<std::unique_ptr<llvm::TargetMachine>> machine_for(const Target& target) {
  initialise_once();
  std::string reason;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, reason);
  if (!found) return unsupported("no code generator for the machine '" + target.triple + "': " + reason);
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      target.triple, target.cpu, target.features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Less, true));
  if (!machine) return unsupported("no code generator for the processor '" + target.cpu + "'");
  return machine;
}

/// Hands the target's passes on, but leaves out the two that cost a quarter of the compile time and gain nothing on
/// code whose addresses and loops the generator has already written as they should be. LLVM's own switches for this
/// are options of the whole process, which belongs to the host.
class SelectedPasses final : public llvm::legacy::PassManagerBase {
 public:
  explicit SelectedPasses(llvm::legacy::PassManager& all) : all_(all) {}
  void add(llvm::Pass* pass) override {
    const llvm::StringRef name = pass->getPassName();
    if (name == "Loop Strength Reduction" || pass->getPassID() == &llvm::MachineSchedulerID)
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
