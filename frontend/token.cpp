#include "frontend/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/text/picture.h"
#include "engine/text/token.h"
#include "runtime/text_number.h"

namespace weft {
namespace {

constexpr std::string_view symbols[] = {"(", "[", ")", "]", ",", "*", "+", "-", "=", ";", "\n"};
constexpr TokenKind kinds[] = {TokenKind::open,  TokenKind::open,  TokenKind::close, TokenKind::close,  TokenKind::comma,
                               TokenKind::times, TokenKind::plus,  TokenKind::minus, TokenKind::equals, TokenKind::separator,
                               TokenKind::separator};
static_assert(std::size(symbols) == std::size(kinds));
constexpr text::Lexicon lexicon{Dots::none, text::Numbers::reals, symbols};

/// What is written with the digits: a number in the range of f64 and nothing that a name could go on with.
Expected<Token> read_number(Scanner& scanner, const text::Token& digits) {
  double value = 0;
  // Rounded as numbers in files are, which end with a line: one too small becomes 0.
  const std::string line = std::string(digits.text) + '\n';
  const char* end = line.data();
  const NumberDefect defect = scan_any_real(end, line.data() + line.size(), value);
  const char behind = scanner.next();
  scanner.take_name(Dots::any);
  const Span span = scanner.since(digits.span.begin);
  const std::string_view spelled = scanner.text().substr(span.begin, span.end - span.begin);
  const auto wrong = [&](std::string_view what) {
    return error_at(ErrorKind::input, scanner.text(), fmt::format("{} is {}", spelled, what), {span});
  };
  const bool goes_on = span.end > digits.span.end;
  if (goes_on && starts_name(behind))
    return wrong("neither a number nor a name: names do not start with a digit, and a coefficient is followed by '*'");
  if (goes_on || defect == NumberDefect::malformed || *end != '\n') return wrong("not a number");
  if (defect == NumberDefect::overflow) return wrong("outside the range of a 64-bit number");
  return Token{TokenKind::number, span, value};
}

std::unexpected<Error> no_token(std::string_view text, const text::Token& found) {
  if (found.text == "/") {
    return error_at(ErrorKind::unsupported, text, "division is not supported: multiply by a number instead, as in 0.5 * T(i)",
                    {found.span});
  }
  return error_at(
      ErrorKind::input, text,
      fmt::format("unexpected character {}: names are letters, digits and '_'", name_character(text, found.span.begin)), {found.span});
}

TokenKind kind_of(const text::Token& symbol) {
  return kinds[std::ranges::find(symbols, symbol.text) - std::begin(symbols)];
}

bool may_end_assignment(TokenKind kind) {
  return kind == TokenKind::name || kind == TokenKind::number || kind == TokenKind::close;
}

}  // namespace

std::unexpected<Error> about(std::unexpected<Error> failure, ErrorCode code, std::string_view operand, std::string_view index) {
  failure.error().code = code;
  failure.error().operand = operand;
  failure.error().index = index;
  return failure;
}

std::unexpected<Error> option_error(std::string_view option, std::string message, std::string_view operand) {
  return std::unexpected(Error{.kind = ErrorKind::input,
                               .message = std::move(message),
                               .code = ErrorCode::option,
                               .operand = std::string(operand),
                               .option = std::string(option)});
}

Expected<std::vector<Token>> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t depth = 0;
  Scanner scanner(text, " \t\r\v\f");
  while (true) {
    const text::Token found = text::next_token(scanner, lexicon);
    switch (found.kind) {
      case text::TokenKind::unknown:
        return no_token(text, found);
      case text::TokenKind::end:
        tokens.push_back({TokenKind::end, found.span, 0});
        return tokens;
      case text::TokenKind::name:
        tokens.push_back({TokenKind::name, found.span, 0});
        continue;
      case text::TokenKind::number: {
        const auto number = read_number(scanner, found);
        if (!number) return std::unexpected(number.error());
        tokens.push_back(*number);
        continue;
      }
      case text::TokenKind::symbol:
        break;
    }
    const TokenKind kind = kind_of(found);
    if (found.text == "\n") {
      if (depth == 0 && !tokens.empty() && may_end_assignment(tokens.back().kind)) tokens.push_back({kind, found.span, 0});
      continue;
    }
    if (kind == TokenKind::minus && scanner.at(">")) {
      return error_at(ErrorKind::input, text, "'=' belongs to index notation and '->' to einsum: an expression is one or the other",
                      {{found.span.begin, found.span.end + 1}});
    }
    if (kind == TokenKind::open) ++depth;
    if (kind == TokenKind::close && depth > 0) --depth;
    const bool continues_line = kind == TokenKind::times || kind == TokenKind::equals;
    if (continues_line && !tokens.empty() && text[tokens.back().span.begin] == '\n') tokens.pop_back();
    tokens.push_back({kind, found.span, 0});
  }
}

}  // namespace weft
