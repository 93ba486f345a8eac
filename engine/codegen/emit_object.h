// Module to machine code, by the target's own pass pipeline without the passes that cost more than they gain here.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "engine/codegen/codegen.h"

namespace weft {

enum class EmittedForm { object, assembly };

/// LLVM's code generation rewrites the module: it is not to be used afterwards.
Expected<std::string> emit_machine_code(llvm::Module& module, const Target& target, EmittedForm form,
                                        const TargetMachines* machines);

}  // namespace weft
