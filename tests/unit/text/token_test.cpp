#include "engine/text/token.h"

#include <doctest/doctest.h>

#include <vector>

namespace weft::text_token_test {
namespace {

using text::Token;
using text::TokenKind;

constexpr std::string_view symbols[] = {"<=", "<", "*"};

std::vector<Token> tokens(std::string_view source, const text::Lexicon& lexicon) {
  std::vector<Token> all;
  Scanner scanner(source);
  while (all.empty() || (all.back().kind != TokenKind::end && all.back().kind != TokenKind::unknown))
    all.push_back(text::next_token(scanner, lexicon));
  return all;
}

}  // namespace

TEST_CASE("names, numbers and symbols with their spans, and the end") {
  const auto all = tokens(" K.1<= 12 *<", {Dots::inner, text::Numbers::integers, symbols});
  REQUIRE(all.size() == 6);
  CHECK(all[0].kind == TokenKind::name);
  CHECK(all[0].text == "K.1");
  CHECK(all[0].span == Span{1, 4});
  CHECK(all[1].kind == TokenKind::symbol);
  CHECK(all[1].text == "<=");
  CHECK(all[2].kind == TokenKind::number);
  CHECK(all[2].text == "12");
  CHECK(all[2].span == Span{7, 9});
  CHECK(all[3].text == "*");
  CHECK(all[4].text == "<");
  CHECK(all[5].kind == TokenKind::end);
  CHECK(all[5].span == Span{12, 12});
}

TEST_CASE("reals may begin with a point; integers end before it") {
  const text::Lexicon reals{Dots::none, text::Numbers::reals, symbols};
  CHECK(tokens("2.5e1*", reals)[0].text == "2.5e1");
  CHECK(tokens(".5", reals)[0].text == ".5");
  CHECK(tokens(".", reals)[0].kind == TokenKind::unknown);
  const text::Lexicon integers{Dots::none, text::Numbers::integers, symbols};
  CHECK(tokens("2.5", integers)[0].text == "2");
  CHECK(tokens(".5", integers)[0].kind == TokenKind::unknown);
}

TEST_CASE("a character of no token is told, and not taken") {
  Scanner scanner(" ~a");
  const Token token = text::next_token(scanner, {Dots::none, text::Numbers::integers, symbols});
  CHECK(token.kind == TokenKind::unknown);
  CHECK(token.text == "~");
  CHECK(token.span == Span{1, 2});
  CHECK(scanner.rest() == "~a");
}

}  // namespace weft::text_token_test
