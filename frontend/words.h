// Text in words.
#pragma once

#include <string_view>
#include <vector>

#include "engine/text/trimmed.h"

namespace weft {

/// What blanks separate; views into `text`.
std::vector<std::string_view> words_of(std::string_view text);

}  // namespace weft
