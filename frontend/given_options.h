// What can be wrong with the options of a compilation, and with figures of operands, whatever the expression is.
#pragma once

#include <map>
#include <string>

#include "weft/engine.h"

namespace weft {

/// Input error, or unsupported, that names the option: formats that no tensor has, numbers that count no calls, and
/// enumerators that there are not. Asked before anything reads them.
Expected<void> check_options(const CompileOptions& options);
/// Input error, or unsupported, that names the operand: figures that no tensor has.
Expected<void> check_figures(const std::map<std::string, Statistics>& operands);

}  // namespace weft
