#include "frontend/command.h"

int main(int argc, char** argv) { return weft::command(argc, argv); }
