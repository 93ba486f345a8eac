// Text in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/trimmed.h"

namespace weft {

/// What blanks separate; views into `text`.
std::vector<std::string_view> words_of(std::string_view text);

/// "B", "B and C", "B, C and D".
std::string in_a_row(const std::vector<std::string>& names);

}  // namespace weft
