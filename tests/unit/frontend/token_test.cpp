#include "frontend/token.h"

#include <doctest/doctest.h>

namespace token_test {

using namespace weft;

namespace {

std::vector<TokenKind> kinds(std::string_view text) {
  const auto tokens = tokenize(text);
  REQUIRE(tokens);
  std::vector<TokenKind> result;
  for (const Token& token : *tokens) result.push_back(token.kind);
  return result;
}

double number(std::string_view text) {
  const auto tokens = tokenize(text);
  REQUIRE(tokens);
  REQUIRE(tokens->size() == 2);
  REQUIRE(tokens->front().kind == TokenKind::number);
  CHECK(tokens->front().span == Span{0, text.size()});
  return tokens->front().value;
}

std::string error_of(std::string_view text, ErrorKind kind = ErrorKind::input) {
  const auto tokens = tokenize(text);
  REQUIRE(!tokens);
  CHECK(tokens.error().kind == kind);
  return tokens.error().message;
}

}  // namespace

TEST_CASE("tokens and their spans") {
  using enum TokenKind;
  CHECK(kinds("A_1[i,r]=-2*(s+b);") == std::vector{name, open, name, comma, name, close, equals, minus,
                                                   TokenKind::number, times, open, name, plus, name, close, separator,
                                                   end});
  const auto tokens = tokenize(" ab\t=  c ");
  REQUIRE(tokens);
  CHECK((*tokens)[0] == Token{name, {1, 3}, 0});
  CHECK((*tokens)[1] == Token{equals, {4, 5}, 0});
  CHECK((*tokens)[2] == Token{name, {7, 8}, 0});
  CHECK((*tokens)[3] == Token{end, {9, 9}, 0});
  CHECK(kinds("") == std::vector{end});
}

TEST_CASE("numbers") {
  CHECK(number("2") == 2);
  CHECK(number("3e-1") == 0.3);
  CHECK(number(".5") == 0.5);
  CHECK(number("2.") == 2);
  CHECK(number("1.5E+2") == 150);
  CHECK(number("0.1") == 0.1);
  CHECK(number("1e308") == 1e308);
  CHECK(number("1e-400") == 0);
  CHECK(number("4e-324") == 5e-324);
  CHECK(error_of("1e309") == "1e309 is outside the range of a 64-bit number\n  1e309\n  ^");
  CHECK(error_of("a * 2T").starts_with("2T is neither a number nor a name"));
  CHECK(error_of("3e").starts_with("3e is neither a number nor a name"));
  CHECK(error_of("1.2.3").starts_with("1.2.3 is not a number"));
  CHECK(error_of("0x10").starts_with("0x10 is neither"));
}

TEST_CASE("a new line ends an assignment unless it cannot") {
  using enum TokenKind;
  CHECK(kinds("a\nb") == std::vector{name, separator, name, end});
  CHECK(kinds("a\n\n\r\n b\n") == std::vector{name, separator, name, separator, end});
  CHECK(kinds("\na") == std::vector{name, end});
  CHECK(kinds("a =\nb *\nc") == std::vector{name, equals, name, times, name, end});
  CHECK(kinds("a\n= b\n  * c") == std::vector{name, equals, name, times, name, end});
  CHECK(kinds("(a\nb)\nc") == std::vector{open, name, name, close, separator, name, end});
  CHECK(kinds("a;\nb") == std::vector{name, separator, name, end});
  CHECK(kinds("a)\nb") == std::vector{name, close, separator, name, end});
}

TEST_CASE("characters of no token are named") {
  CHECK(error_of("a = ?").starts_with("unexpected character '?'"));
  CHECK(error_of("a = \xc3\xa9") ==
        "unexpected character '\xc3\xa9' (U+00E9): names are letters, digits and '_'\n  a = \xc3\xa9\n      ^");
  CHECK(error_of("a = \xff").starts_with("unexpected character byte 0xff"));
  CHECK(error_of(std::string_view("a\0b", 3)).starts_with("unexpected character U+0000"));
  CHECK(error_of("a = b.").starts_with("unexpected character '.'"));
  CHECK(error_of("a -> b") ==
        "'=' belongs to index notation and '->' to einsum: an expression is one or the other\n  a -> b\n    ^");
  CHECK(error_of("a / 2", ErrorKind::unsupported).starts_with("division is not supported"));
}

}  // namespace token_test
