// Texts as words of a shell.
#pragma once

#include <string>

namespace weft {

/// The text as one word of a POSIX shell: as it is where nothing in it means something there, else in single quotes.
std::string shell_word(const std::string& text);

}  // namespace weft
