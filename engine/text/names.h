// Names of tensors and indices, and the limits of the notation.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/digit.h"

namespace weft {

/// Deepest nesting of parentheses any text of weft may have: the parsers recurse, and the host's stack is not ours.
inline constexpr std::size_t deepest_nesting = 256;

/// The classes of the notation are ASCII and do not depend on the host's locale.
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool starts_name(char c) { return is_letter(c) || c == '_'; }
constexpr bool continues_name(char c) { return starts_name(c) || is_digit(c); }

/// Letters, digits and '_', not starting with a digit, not empty.
constexpr bool is_name(std::string_view text) {
  if (text.empty() || !starts_name(text.front())) return false;
  for (const char c : text) {
    if (!continues_name(c)) return false;
  }
  return true;
}

}  // namespace weft
