// What people see of a pipeline at work: the line that calls weft anew in the like, names of kernels, their texts in files.
#pragma once

#include <string>

#include "engine/loop/program.h"
#include "engine/plan/plan.h"
#include "runtime/shell_word.h"

namespace weft {

struct EngineOptions;

/// "weft run 'A(i) = M(i,j) * v(j)' 'M=sparse(50x60,nnz=200)' 'v=uniform(60)'": pasted into a shell it evaluates the same
/// network over operands of the same extents, formats and numbers of entries, with these options. Every line of a trace
/// begins so; what it has to tell follows after " # ".
std::string command_line(const Network& network, const std::vector<OperandFacts>& operands, const Schedule& schedule,
                         const EngineOptions& options);

/// "weft_A_ir_T_ijk_B_jr_C_kr_0123abcd": output and inputs with their indices, then digits of the kernel's key. An identifier of at
/// most 96 letters, which stands in file names, perf's map and the names gdb knows.
std::string kernel_name(const loop::Program& program, const std::string& key);

/// Writes DIRECTORY/NAME.loops, .ll and .s, which replace files of these names. Input error naming the file.
struct KernelTexts {
  std::string loops;
  std::string llvm;
  std::string assembly;
};
Expected<void> dump(const std::string& directory, const std::string& name, const KernelTexts& texts);

}  // namespace weft
