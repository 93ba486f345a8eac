// What can be wrong with the options of a compilation, whatever the expression and the operands are.
#pragma once

#include "weft/engine.h"

namespace weft {

/// Input error, or unsupported, that names the option: formats that no tensor has. Asked before anything reads them.
Expected<void> check_options(const CompileOptions& options);

}  // namespace weft
