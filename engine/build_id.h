// The identity of the machine code that runs: a plan made by other code is planned anew.
#pragma once

#include <string>

namespace weft {

/// The linker's build identifier of the executable or library that contains this function, in hex; empty where it has
/// none. Two builds of the same version differ here as soon as any of their code does.
std::string build_id();

}  // namespace weft
