// Text files that a command line names.
#pragma once

#include <string>

#include "weft/error.h"

namespace weft {

/// All of a file but a byte order mark before it. Input error where it cannot be read.
Expected<std::string> file_text(const std::string& path);

}  // namespace weft
