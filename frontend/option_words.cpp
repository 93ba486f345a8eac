#include "frontend/option_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weft {
namespace {

/// The option of the command that sets a member of CompileOptions.
std::string option_of(const std::string& member) {
  if (member == "formats" || member == "patterns") return "--format";
  if (member == "results") return "--out";
  std::string option = "--" + member;
  std::ranges::replace(option, '_', '-');
  return option;
}

/// Behind what the first line says; a picture may follow it.
void add_to_first_line(std::string& message, const std::string& words) {
  message.insert(std::min(message.find('\n'), message.size()), words);
}

}  // namespace

Error in_words_of_the_command(Error error) {
  if (error.code == ErrorCode::missing_operand && !error.operand.empty()) {
    add_to_first_line(error.message, fmt::format(" (add {}=SPEC)", error.operand));
  } else if (!error.option.empty()) {
    add_to_first_line(error.message, fmt::format(" ({})", option_of(error.option)));
  }
  return error;
}

}  // namespace weft
