#include "engine/text/token.h"

namespace weft::text {

Token next_token(Scanner& scanner, const Lexicon& lexicon) {
  scanner.skip_blanks();
  const std::size_t begin = scanner.position();
  const std::string_view rest = scanner.rest();
  const auto token = [&](TokenKind kind, std::string_view text) { return Token{kind, text, {begin, begin + text.size()}}; };
  if (rest.empty()) return token(TokenKind::end, {});
  if (starts_name(rest.front())) return token(TokenKind::name, scanner.take_name(lexicon.dots));
  const bool is_real = lexicon.numbers == Numbers::reals;
  const bool point_first = is_real && rest.front() == '.' && rest.size() > 1 && is_digit(rest[1]);
  if (is_digit(rest.front()) || point_first)
    return token(TokenKind::number, is_real ? scanner.take_real_digits() : scanner.take_digits());
  for (const std::string_view symbol : lexicon.symbols) {
    if (scanner.take(symbol)) return token(TokenKind::symbol, rest.substr(0, symbol.size()));
  }
  return token(TokenKind::unknown, rest.substr(0, 1));
}

}  // namespace weft::text
