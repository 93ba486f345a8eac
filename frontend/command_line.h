// The words of the command line before their options are known: which command is meant, and what was probably meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.h"

namespace weft {

std::span<const std::string_view> command_names();

/// The words, which follow the name of the program, as COMMAND ARGUMENTS: "'ij->i' x.tns" is "run 'ij->i' x.tns", "help run" is
/// "run --help", "help" "--help", "version" "--version". A first word of letters, digits, '-' and '_' is a command. Input errors: no such
/// command, with the nearest one; options before the command; a line for TACO's command, with that for weft.
Expected<std::vector<std::string>> command_words(const std::vector<std::string>& given);

/// "--reapeat is no option of weft run; did you mean --repeat?". `known`: its options, with their dashes.
std::string unknown_option(std::string_view option, std::string_view command, const std::vector<std::string>& known);

/// The same of "-quiet", which would be read as "-q" and so on. Nothing if there is none.
std::optional<std::string> long_option_with_one_dash(const std::vector<std::string>& words, std::string_view command,
                                                     const std::vector<std::string>& known);

}  // namespace weft
