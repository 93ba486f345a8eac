// The one private entry of libweft: the weft command, which is a few lines over it, so that both share one LLVM.
#pragma once

#include "frontend/repl/line_editor.h"

/// Everything that the command does, to its exit status. Takes over signals and standard streams of the process: only
/// the command, built with the library that it calls, may call it.
extern "C" int weft_private_command(int argc, const char* const* argv, weft::MakeLineEditor make_editor);
