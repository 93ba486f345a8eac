#include "frontend/command.h"
#include "frontend/interrupt.h"
#include "frontend/repl/run.h"
#include "frontend/terminal.h"

int main(int argc, char** argv) {
  weft::keep_standard_streams();
  weft::end_without_leftovers();
  return weft::command(argc, argv, weft::repl);
}
