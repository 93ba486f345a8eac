// A directory for the files of a process, in memory where the system has that, and limits small enough for any input.
#pragma once

#include <string>
#include <string_view>

#include "fuzz/target.h"
#include "weft/memory.h"

namespace weft::fuzz {

/// Made at the first call, removed when the process ends.
const std::string& scratch_directory();

/// Writes the bytes to a file of the directory and returns its path.
std::string scratch_file(std::string_view name, std::string_view bytes);

/// An account of its own of `megabytes`, so that an extent of 2^60 is an error and no allocation.
Resources small_resources(unsigned threads = 1, unsigned megabytes = 64);

}  // namespace weft::fuzz
