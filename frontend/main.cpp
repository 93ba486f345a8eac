#include "frontend/command.h"
#include "frontend/repl/run.h"

int main(int argc, char** argv) { return weft::command(argc, argv, weft::repl); }
