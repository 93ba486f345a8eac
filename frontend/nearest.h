// What somebody meant who mistyped a word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The known word with the fewest insertions, deletions, replacements and swaps of neighbours (Damerau 1964, restricted
/// to one edit per place) from `word`, the first of several; or one that `word` begins or goes on; at once one that
/// differs in upper and lower case alone. None if a third differs.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// "; did you mean loops?" for "lops"; empty if no known word is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace weft
