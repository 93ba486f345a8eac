#include <llvm/Config/llvm-config.h>

#include "engine/codegen/codegen.h"

namespace weft {

std::string code_generator_version() { return "LLVM " LLVM_VERSION_STRING; }

}  // namespace weft
