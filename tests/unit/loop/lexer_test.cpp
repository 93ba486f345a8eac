#include "engine/loop/lexer.h"

#include <doctest/doctest.h>

namespace lexer_test {

using namespace weft;
using namespace weft::loop;

namespace {

std::vector<std::string> texts(const Line& line) {
  std::vector<std::string> result;
  for (const Token& token : line.tokens) result.emplace_back(token.text);
  return result;
}

}  // namespace

TEST_CASE("names with inner dots, numbers, symbols") {
  const auto lines = lex("for i: drive K.1(merge), T_2 += -= <= 12<3 a.");
  REQUIRE(!lines);
  const auto good = lex("  K.1(merge) T_2+=12 -= <=<3>{}[]*@|=,");
  REQUIRE(good.has_value());
  REQUIRE(good->size() == 1);
  CHECK((*good)[0].indent == 2);
  CHECK(texts((*good)[0]) ==
        std::vector<std::string>{"K.1", "(", "merge", ")", "T_2", "+=", "12", "-=", "<=", "<", "3",
                                 ">",   "{", "}",     "[", "]",   "*",  "@",  "|",  "=",  ",", ""});
  CHECK((*good)[0].tokens[0].kind == TokenKind::name);
  CHECK((*good)[0].tokens[6].kind == TokenKind::number);
  CHECK((*good)[0].tokens.back().kind == TokenKind::end);
}

TEST_CASE("blank lines and comments are left out, lines keep their numbers and columns") {
  const auto lines = lex("\n# only a comment\r\n a  b # c\r\n\n   c");
  REQUIRE(lines.has_value());
  REQUIRE(lines->size() == 2);
  CHECK((*lines)[0].number == 3);
  CHECK((*lines)[0].tokens[1].span.begin == 4);
  CHECK(texts((*lines)[0]) == std::vector<std::string>{"a", "b", ""});
  CHECK((*lines)[1].number == 5);
  CHECK((*lines)[1].indent == 3);
  CHECK(lex("")->empty());
}

TEST_CASE("an error shows the line and the place") {
  const auto lines = lex("a\n  b ~ c\n");
  REQUIRE(!lines);
  CHECK(lines.error() == Error{ErrorKind::input, "line 2: '~' stands for nothing here\n    b ~ c\n      ^"});
}

}  // namespace lexer_test
