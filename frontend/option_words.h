// What the library says in terms of CompileOptions and operands, in the words of the command.
#pragma once

#include "weft/error.h"

namespace weft {

/// The same error, which also says which word of the command line it is about: "(--objective)", "add B=SPEC".
Error in_words_of_the_command(Error error);

}  // namespace weft
