// Long output at a terminal.
#pragma once

#include <string_view>

#include "weft/error.h"

namespace weft {

/// Writes to standard output: through $PAGER, else less, where the text has more rows than the terminal; as it is where it fits, where
/// standard output is no terminal or a dumb one, or PAGER is empty. Leaving the pager early is no error; Ctrl-C is the pager's as long
/// as it runs.
Expected<void> print_paged(std::string_view text);

}  // namespace weft
