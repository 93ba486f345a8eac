#include "frontend/repl/entry.h"

#include "frontend/command.h"
#include "frontend/interrupt.h"
#include "frontend/repl/run.h"
#include "frontend/terminal.h"

int weft_private_command(int argc, const char* const* argv, weft::MakeLineEditor make_editor) {
  weft::keep_standard_streams();
  weft::end_without_leftovers();
  return weft::command(argc, argv, [make_editor](const weft::CommandOptions& options) { return weft::repl(options, make_editor); });
}
