// Texts without the space around them.
#pragma once

#include <string_view>

namespace weft {

/// Without spaces, tabs and ends of lines at its ends.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace weft
