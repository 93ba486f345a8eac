// Tokens: what a language of weft consists of, as its lexicon says.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/text/scanner.h"

namespace weft::text {

enum class TokenKind : std::uint8_t {
  name,
  number,
  symbol,
  unknown,  ///< a character that begins no token, and is not taken
  end,      ///< of the text
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text = {};  ///< into the source
  Span span = {};              ///< in the scanner's text
};

enum class Numbers : std::uint8_t { integers, reals };

/// What tells the languages apart. Names begin with a letter or '_', numbers with a digit, reals with a point as well that
/// a digit follows.
struct Lexicon {
  Dots dots = Dots::none;  ///< in names
  Numbers numbers = Numbers::integers;
  std::span<const std::string_view> symbols;  ///< one that begins with another stands before it
};

/// The token behind the blanks. The characters of a number may go on as those of a name ("2T"): whether that is wrong is for
/// the language to say.
Token next_token(Scanner& scanner, const Lexicon& lexicon);

}  // namespace weft::text
