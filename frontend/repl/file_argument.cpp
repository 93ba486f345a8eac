#include "frontend/repl/file_argument.h"

#include <algorithm>

#include "frontend/operand.h"

namespace weft {

FileArgument leading_file(const std::string& text) {
  const std::size_t begin = text.starts_with('"') ? 1 : 0;
  const std::size_t end = std::min(begin == 1 ? text.find('"', 1) : text.find_first_of(" \t"), text.size());
  const std::size_t rest = text.find_first_not_of(" \t", std::min(end + begin, text.size()));
  return {at_home(text.substr(begin, end - begin)), rest == std::string::npos ? "" : text.substr(rest)};
}

std::string whole_file(const std::string& text) {
  const bool quoted = text.size() > 1 && text.starts_with('"') && text.ends_with('"');
  return at_home(quoted ? text.substr(1, text.size() - 2) : text);
}

}  // namespace weft
