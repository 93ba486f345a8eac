// Texts without the space around them.
#pragma once

#include <string_view>

namespace weft {

/// Between words: what isspace() has in the C locale.
inline constexpr std::string_view between_words = " \t\r\n\v\f";

/// Without the blanks at both ends; a view into `text`.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(between_words);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(between_words) - first + 1);
}

/// Without the characters of `blanks` at the end.
inline std::string_view without_end(std::string_view text, std::string_view blanks) {
  return text.substr(0, text.find_last_not_of(blanks) + 1);  // npos + 1 is 0
}

}  // namespace weft
