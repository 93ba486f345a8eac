// weft repl: the loop around a session, at a terminal, from a script or from a pipe.
#pragma once

#include "frontend/command.h"
#include "frontend/repl/line_editor.h"
#include "weft/error.h"

namespace weft {

/// Reads options.arguments.front(), else standard input, and returns the exit status: 0, or that of the error that ended
/// a script (command.h); an interactive session goes on after errors and ends with 0. Errors are printed to standard
/// error, in scripts as "SCRIPT:LINE: error: ...". Error: the script cannot be read, or the options are wrong.
Expected<int> repl(const CommandOptions& options, MakeLineEditor make_editor);

}  // namespace weft
