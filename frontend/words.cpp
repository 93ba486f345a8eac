#include "frontend/words.h"

namespace weft {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    words.push_back(text.substr(0, text.find_first_of(between_words)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

std::string in_a_row(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t name = 0; name < names.size(); ++name) {
    if (name > 0) text += name + 1 == names.size() ? " and " : ", ";
    text += names[name];
  }
  return text;
}

}  // namespace weft
