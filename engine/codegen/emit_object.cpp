#include "engine/codegen/emit_object.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/codegen/target_machines.h"
#include "runtime/headroom.h"

namespace weft {

namespace {

// Measured (engine/codegen/README.md): 2.4 MB for the first of a process, and up to 1.4 KB per instruction.
constexpr std::uint64_t emitting_bytes = 8 << 20;
constexpr std::uint64_t emitting_bytes_per_instruction = 3 << 10;

/// Passes without work in code of this generator. The first three have some and gain nothing, for addresses and loops stand as they
/// should, and cost a quarter of the time (the second prepares the first). The others look for what is never there, in each function:
/// tiles, exceptions, garbage collection, thread-local storage, debug values, wide integers, the x87 stack, lanes of subregisters,
/// comparisons of memory, hardening, instrumentation; constants of vectors that shrink to broadcasts; metadata of aliases. The
/// assembly of 1175 kernels (loops, targets of three widths, checked, strict) is the same with them.
constexpr std::array<std::string_view, 68> passes_left_out = {
    "Loop Strength Reduction",
    "Canonicalize Freeze Instructions in Loops",
    "Machine Instruction Scheduler",
    // On LLVM IR.
    "Expand large div/rem",
    "Expand large fp convert",
    "Lower AMX intrinsics",
    "Lower AMX type for load/store",
    "Type-Based Alias Analysis",
    "Scoped NoAlias Alias Analysis",
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Lower Garbage Collection Instructions",
    "Shadow Stack GC Lowering",
    "Lower constant intrinsics",
    "Replace intrinsics with calls to vector library",
    "Partially inline calls to library functions",
    "Expand vector predication intrinsics",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "TLS Variable Hoist",
    "Interleaved Access Pass",
    "X86 Partial Reduction",
    "Expand indirectbr instructions",
    "Exception handling preparation",
    "Prepare callbr",
    "Safe Stack instrumentation pass",
    // On machine instructions.
    "Local Dynamic TLS Access Clean-up",
    "Argument Stack Rebase",
    "X86 Domain Reassignment Pass",
    "Merge disjoint stack slots",
    "Local Stack Slot Allocation",
    "Early If-Conversion",
    "X86 Windows Fixup Buffer Security Check",
    "X86 Avoid Store Forwarding Blocks",
    "X86 speculative load hardening",
    "Tile Register Pre-configure",
    "Detect Dead Lanes",
    "Init Undef Pass",
    "Rename Disconnected Subregister Components",
    "Tile Register Configure",
    "Register Allocation Pass Scoring",
    "X86 Lower Tile Copy",
    "X86 FP Stackifier",
    "X86 Load Value Injection (LVI) Load Hardening",
    "Remove Redundant DEBUG_VALUE analysis",
    "Fixup Statepoint Caller Saved",
    "Insert KCFI indirect call checks",
    "Post RA top-down list latency scheduler",
    "Analyze Machine Code For Garbage Collection",
    "Insert fentry calls",
    "Insert XRay ops",
    "Implement the 'patchable-function' attribute",
    "X86 Indirect Branch Tracking",
    "X86 Atom pad short functions",
    "X86 Fixup Vector Constants",
    "X86 Discriminate Memory Operands",
    "X86 Insert Cache Prefetches",
    "X86 insert wait instruction",
    "Contiguously Lay Out Funclets",
    "StackMap Liveness Analysis",
    "Live DEBUG_VALUE analysis",
    "Machine Sanitizer Binary Metadata",
    "Stack Frame Layout Analysis",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Indirect Thunks",
    "X86 Return Thunks",
    "Check CFA info and insert CFI instructions if needed",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "Pseudo Probe Inserter",
};

/// Hands the target's passes on, but for those. LLVM's own switches for this are options of the whole process, which belongs to the host.
class SelectedPasses final : public llvm::legacy::PassManagerBase {
 public:
  explicit SelectedPasses(llvm::legacy::PassManager& all) : all_(all) {}
  void add(llvm::Pass* pass) override {
    if (std::ranges::find(passes_left_out, std::string_view(pass->getPassName())) != passes_left_out.end())
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
