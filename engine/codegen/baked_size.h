// How much code loops over baked patterns become, before any of it is written: LLVM's time and memory grow with it. Without LLVM.
#pragma once

#include <cstdint>

#include "engine/codegen/codegen.h"
#include "engine/loop/program.h"

namespace weft {

/// About the instructions of the code: what statements and steps take, each as often as it is written, which is once in a loop at run
/// time, and once for each entry where a loop over a pattern is unrolled, times those of the loops around it. Walks the patterns as code
/// generation does, and takes the larger number where that has a choice. Stops soon after `most`.
std::uint64_t baked_size(const loop::Program& program, const CodeOptions& options, std::uint64_t most);

}  // namespace weft
