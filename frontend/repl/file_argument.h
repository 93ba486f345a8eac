// Names of files and directories in the arguments of commands of the prompt.
#pragma once

#include <string>

namespace weft {

/// A name that begins an argument, and what follows it.
struct FileArgument {
  std::string path;  ///< without its quotes, and with the home directory for "~/"
  std::string rest;  ///< without blanks before it
};

/// A name with blanks stands in quotes.
FileArgument leading_file(const std::string& text);

/// The path that is all of the text, in quotes or not.
std::string whole_file(const std::string& text);

}  // namespace weft
