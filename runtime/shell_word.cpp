#include "runtime/shell_word.h"

#include <algorithm>
#include <string_view>

namespace weft {

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return alphanumeric || std::string_view("_-=./:,+").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'') word += "'\\'";  // ends the quotation, quotes this one, and begins again
    word += letter;
  }
  word += '\'';
  return word;
}

}  // namespace weft
