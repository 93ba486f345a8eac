#include "frontend/repl/entry.h"

int main(int argc, char** argv) { return weft_private_command(argc, argv, weft::make_line_editor); }
