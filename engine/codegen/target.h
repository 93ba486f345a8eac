// What LLVM knows about a Target.
#pragma once

#include "engine/codegen/codegen.h"

namespace llvm {
class Target;
}

namespace weft {

/// LLVM's code generator for a triple, initialised; null where this build has none.
const llvm::Target* find_target(const std::string& triple);

/// Bits of the widest vectors to use on the target; 0 if it is no 64-bit processor this build has a code generator for.
unsigned vector_bits(const Target& target);

}  // namespace weft
