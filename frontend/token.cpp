#include "frontend/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/network/names.h"

namespace weft {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// Where a number that starts at `begin` ends: digits, a point, an exponent only if digits follow it.
std::size_t end_of_number(std::string_view text, std::size_t begin) {
  const auto digit_at = [&](std::size_t position) { return position < text.size() && is_digit(text[position]); };
  std::size_t end = begin;
  while (digit_at(end)) ++end;
  if (end < text.size() && text[end] == '.') ++end;
  while (digit_at(end)) ++end;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (digit_at(exponent)) {
      end = exponent;
      while (digit_at(end)) ++end;
    }
  }
  return end;
}

Expected<Token> read_number(std::string_view text, std::size_t begin) {
  std::size_t end = end_of_number(text, begin);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
  const bool complete = stop == text.data() + end;
  const std::size_t number_end = end;
  while (end < text.size() && (continues_name(text[end]) || text[end] == '.')) ++end;
  const std::string_view spelled = text.substr(begin, end - begin);
  if (end > number_end && starts_name(text[number_end])) {
    return error_at(ErrorKind::input, text,
                    fmt::format("{} is neither a number nor a name: names do not start with a digit, and a coefficient "
                                "is followed by '*'",
                                spelled),
                    {{begin, end}});
  }
  if (end > number_end || !complete) {
    return error_at(ErrorKind::input, text, fmt::format("{} is not a number", spelled), {{begin, end}});
  }
  if (error == std::errc::result_out_of_range) {
    return error_at(ErrorKind::input, text, fmt::format("{} is outside the range of a 64-bit number", spelled),
                    {{begin, end}});
  }
  if (error != std::errc()) {
    return error_at(ErrorKind::input, text, fmt::format("{} is not a number", spelled), {{begin, end}});
  }
  return Token{TokenKind::number, {begin, end}, value};
}

Expected<TokenKind> kind_of_symbol(std::string_view text, std::size_t position) {
  switch (text[position]) {
    case '(':
    case '[':
      return TokenKind::open;
    case ')':
    case ']':
      return TokenKind::close;
    case ',':
      return TokenKind::comma;
    case '*':
      return TokenKind::times;
    case '+':
      return TokenKind::plus;
    case '-':
      if (position + 1 < text.size() && text[position + 1] == '>') {
        return error_at(ErrorKind::input, text,
                        "'=' belongs to index notation and '->' to einsum: an expression is one or the other",
                        {{position, position + 2}});
      }
      return TokenKind::minus;
    case '=':
      return TokenKind::equals;
    case ';':
      return TokenKind::separator;
    case '/':
      return error_at(ErrorKind::unsupported, text,
                      "division is not supported: multiply by a number instead, as in 0.5 * T(i)",
                      {{position, position + 1}});
    default:
      return error_at(
          ErrorKind::input, text,
          fmt::format("unexpected character {}: names are letters, digits and '_'", name_character(text, position)),
          {{position, position + 1}});
  }
}

bool may_end_assignment(TokenKind kind) {
  return kind == TokenKind::name || kind == TokenKind::number || kind == TokenKind::close;
}

}  // namespace

std::unexpected<Error> error_at(ErrorKind kind, std::string_view text, std::string message,
                                const std::vector<Span>& places) {
  const std::string pictured = picture(text, places);
  Error error{.kind = kind,
              .message = pictured.empty() ? std::move(message) : fmt::format("{}\n{}", message, pictured),
              .code = kind == ErrorKind::input ? ErrorCode::syntax : ErrorCode::other};
  if (!places.empty()) {
    const std::size_t offset = std::min(places.front().begin, text.size());
    const std::string_view before = text.substr(0, offset);
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    error.position = TextPosition{offset, 1 + static_cast<std::uint64_t>(std::ranges::count(before, '\n')), offset - line_begin + 1};
  }
  return std::unexpected(std::move(error));
}

std::unexpected<Error> about(std::unexpected<Error> failure, ErrorCode code, std::string_view operand, std::string_view index) {
  failure.error().code = code;
  failure.error().operand = operand;
  failure.error().index = index;
  return failure;
}

std::unexpected<Error> option_error(std::string_view option, std::string message) {
  return std::unexpected(Error{.kind = ErrorKind::input,
                               .message = std::move(message),
                               .code = ErrorCode::option,
                               .option = std::string(option)});
}

Expected<std::vector<Token>> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t depth = 0;
  for (std::size_t position = 0; position < text.size();) {
    const char c = text[position];
    if (is_space(c)) {
      ++position;
    } else if (c == '\n') {
      if (depth == 0 && !tokens.empty() && may_end_assignment(tokens.back().kind)) {
        tokens.push_back({TokenKind::separator, {position, position + 1}, 0});
      }
      ++position;
    } else if (starts_name(c)) {
      const std::size_t begin = position;
      while (position < text.size() && continues_name(text[position])) ++position;
      tokens.push_back({TokenKind::name, {begin, position}, 0});
    } else if (is_digit(c) || (c == '.' && position + 1 < text.size() && is_digit(text[position + 1]))) {
      const auto number = read_number(text, position);
      if (!number) return std::unexpected(number.error());
      tokens.push_back(*number);
      position = number->span.end;
    } else {
      const auto kind = kind_of_symbol(text, position);
      if (!kind) return std::unexpected(kind.error());
      if (*kind == TokenKind::open) ++depth;
      if (*kind == TokenKind::close && depth > 0) --depth;
      const bool continues_line = *kind == TokenKind::times || *kind == TokenKind::equals;
      if (continues_line && !tokens.empty() && text[tokens.back().span.begin] == '\n') tokens.pop_back();
      tokens.push_back({*kind, {position, position + 1}, 0});
      ++position;
    }
  }
  tokens.push_back({TokenKind::end, {text.size(), text.size()}, 0});
  return tokens;
}

}  // namespace weft
