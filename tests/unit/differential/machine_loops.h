// The innermost loops of a kernel's machine code, read from its assembly, and what may be wrong with them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft::test {

/// "vfmadd231pd 64(%r14,%r9), %zmm8, %zmm6" has three operands.
struct MachineInstruction {
  std::string name;
  std::vector<std::string> operands;  ///< without masks; what is written comes last
  std::string text;                   ///< with LLVM's remark, as "# 8-byte Spill"
};

struct MachineLoop {
  std::string source;  ///< the loop of the program that its first block belongs to: "for k: drive T, locate C"
  std::vector<MachineInstruction> body;
  bool frame_pointer = false;  ///< %rbp points into the stack, as %rsp does
};

/// Loops without another one inside, of the function weft_loops in AT&T syntax, in the order of their first blocks.
std::vector<MachineLoop> innermost_loops(const std::string& assembly);

/// Of the widest register in it: 512 for zmm, 256, 128; 0 where there is none of them.
unsigned vector_bits_of(const MachineLoop& loop);

// Each lists instructions, a line each; empty where none is such.
std::string calls(const MachineLoop& loop);
/// That read or write the stack at a fixed place: values that found no register. Rows that are put aside have an index.
std::string spills(const MachineLoop& loop);
/// That read from an address which is the same in every iteration.
std::string invariant_loads(const MachineLoop& loop);

}  // namespace weft::test
