#include "frontend/words.h"

namespace weft {
namespace {

constexpr std::string_view between_words = " \t\r\n\v\f";

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(between_words);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(between_words) - begin + 1);
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    words.push_back(text.substr(0, text.find_first_of(between_words)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

}  // namespace weft
