// Tokens of the loop language: lines with an indentation, names, numbers and symbols.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/token.h"
#include "weft/error.h"

namespace weft::loop {

/// Names with inner dots ("K.1"); unsigned integers; "+=", "-=", "<=" or one punctuation character; the end of the line.
/// Spans are those of the line, from 0.
using text::Token;
using text::TokenKind;

/// A line that has at least one token; comments ("#" to the end of the line) and blank lines are left out.
struct Line {
  std::size_t number = 0;  ///< from 1
  std::size_t indent = 0;  ///< leading spaces
  std::string_view text;
  std::vector<Token> tokens;  ///< the last one is TokenKind::end
};

/// "line 3: MESSAGE", the line, and a caret under `column`.
Error error_at(const Line& line, std::size_t column, ErrorKind kind, std::string_view message);

/// The views point into `text`, which has to outlive them. Input errors: a tab, or a character of no token.
Expected<std::vector<Line>> lex(std::string_view text);

}  // namespace weft::loop
