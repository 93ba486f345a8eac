// Changes to a text word by word and line by line, so that much of what comes out still parses.
#pragma once

#include <random>
#include <string>
#include <string_view>

namespace weft::fuzz {

/// The text with one to three words or lines removed, swapped, copied from elsewhere in it, or moved to another
/// indentation.
std::string mutated_text(std::string_view text, std::mt19937_64& random);

}  // namespace weft::fuzz
