#include "engine/text/picture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace picture_test {

using namespace weft;

TEST_CASE("carets stand under every place, whatever their order") {
  CHECK(picture("A(i) = B(j)", {{9, 10}, {2, 3}}) ==
        "  A(i) = B(j)\n"
        "    ^      ^");
  CHECK(picture("A", {{0, 1}, {0, 1}}) == "  A\n  ^");
  CHECK(picture("A", {}) == "");
}

TEST_CASE("a place at the end, behind it and in an empty text") {
  CHECK(picture("A =", {{3, 3}}) == "  A =\n     ^");
  CHECK(picture("A =", {{99, 100}}) == "  A =\n     ^");
  CHECK(picture("", {{0, 0}}) == "  \n  ^");
}

TEST_CASE("only lines with places are shown") {
  CHECK(picture("a = b\nc = d\ne = f", {{12, 13}, {0, 1}}) == "  a = b\n  ^\n  e = f\n  ^");
  CHECK(picture("a = b\nc", {{5, 6}}) == "  a = b\n       ^");
  CHECK(picture("a\n", {{2, 2}}) == "  \n  ^");
  CHECK(picture("a\r\nb\r\n", {{1, 2}, {2, 3}, {3, 4}}) == "  a\n   ^\n  b\n  ^");
}

TEST_CASE("columns count characters, and nothing reaches the terminal that is not one column") {
  CHECK(picture("\xc3\xa9 = x", {{5, 6}}) == "  \xc3\xa9 = x\n      ^");
  CHECK(picture("a\tb", {{2, 3}}) == "  a b\n    ^");
  CHECK(picture("a\x1b[1mb", {{5, 6}}) == "  a?[1mb\n       ^");
  CHECK(picture("\xff\xc3z", {{2, 3}}) == "  ??z\n    ^");
  CHECK(picture("\xe2\x80\xaez", {{3, 4}}) == "  ?z\n   ^");
  CHECK(picture(std::string_view("a\0b", 3), {{2, 3}}) == "  a?b\n    ^");
}

TEST_CASE("a long line is cut around its places") {
  std::string text(1000, 'x');
  text[10] = 'A';
  text[900] = 'B';
  const std::string shown = picture(text, {{10, 11}, {900, 901}});
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin <= shown.size();) {
    const std::size_t end = std::min(shown.find('\n', begin), shown.size());
    lines.push_back(shown.substr(begin, end - begin));
    begin = end + 1;
  }
  REQUIRE(lines.size() == 4);
  for (const std::size_t line : {std::size_t{0}, std::size_t{2}}) {
    CHECK(lines[line].size() < 180);
    REQUIRE(lines[line + 1].find('^') != std::string::npos);
    CHECK(lines[line][lines[line + 1].find('^')] == (line == 0 ? 'A' : 'B'));
    CHECK(lines[line + 1].find('^') + 1 == lines[line + 1].size());
  }
  CHECK(lines[0].ends_with("..."));
  CHECK(lines[2].starts_with("  ..."));
  CHECK(picture(text, {{1000, 1000}}).ends_with("^"));
}

TEST_CASE("names of characters") {
  CHECK(name_character("?", 0) == "'?'");
  CHECK(name_character("a\xc3\xa9", 1) == "'\xc3\xa9' (U+00E9)");
  CHECK(name_character("\x07", 0) == "U+0007");
  CHECK(name_character("\xff", 0) == "byte 0xff");
  CHECK(name_character("\xe2\x82", 0) == "byte 0xe2");
  CHECK(name_character("\xed\xa0\x80", 0) == "byte 0xed");
  CHECK(name_character("\xf0\x9f\x98\x80", 0) == "'\xf0\x9f\x98\x80' (U+1F600)");
}

TEST_CASE("any bytes and places give a picture whose lines come in pairs") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 400, ' ');
    for (char& c : text) c = random() % 9 == 0 ? '\n' : static_cast<char>(random() % 256);
    std::vector<Span> places;
    for (std::size_t count = 1 + random() % 5; count > 0; --count) {
      const std::size_t begin = random() % (text.size() + 3);
      places.push_back({begin, begin + 1});
    }
    const std::string shown = picture(text, places);
    CHECK(std::count(shown.begin(), shown.end(), '\n') % 2 == 1);
    CHECK(shown.ends_with('^'));
  }
}

}  // namespace picture_test
