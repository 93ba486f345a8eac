// Tokens of index notation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/error_at.h"
#include "weft/error.h"

namespace weft {

enum class TokenKind {
  name,
  number,
  open,   ///< '(' or '['
  close,  ///< ')' or ']'
  comma,
  times,
  plus,
  minus,
  equals,
  separator,  ///< ';' or a new line that ends an assignment
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  Span span;
  double value = 0;  ///< of a number
  bool operator==(const Token&) const = default;
};

/// The tokens of a text, the last one `end`. A new line inside brackets, after an operator or before '*' or '=' is
/// space. Input errors with a picture: a character that belongs to no token, a malformed or too large number.
Expected<std::vector<Token>> tokenize(std::string_view text);

/// The error with what it is about.
std::unexpected<Error> about(std::unexpected<Error> failure, ErrorCode code, std::string_view operand,
                             std::string_view index = {});
/// An input error about an option: a member of CompileOptions.
std::unexpected<Error> option_error(std::string_view option, std::string message, std::string_view operand = {});

}  // namespace weft
