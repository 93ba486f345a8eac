// Pictures of a text with carets under the places a message speaks of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/span.h"

namespace weft {

/// Every line of `text` that holds a place, two spaces before it, and below it a line with a caret under the first
/// character of each place; joined by newlines, none at the end. Long lines are cut to the surroundings of their
/// places. Columns count code points; what would not print as one column is replaced.
std::string picture(std::string_view text, const std::vector<Span>& places);

/// The character at `position` as a message names it: "'é' (U+00E9)", "'?'", "U+0007" or "byte 0xff".
std::string name_character(std::string_view text, std::size_t position);

}  // namespace weft
