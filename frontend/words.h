// Text in words.
#pragma once

#include <string_view>
#include <vector>

namespace weft {

/// Without the blanks at both ends; views into `text`.
std::string_view trimmed(std::string_view text);
/// What blanks separate.
std::vector<std::string_view> words_of(std::string_view text);

}  // namespace weft
