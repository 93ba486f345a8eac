#include "engine/loop/lexer.h"

#include <algorithm>

#include "engine/text/error_at.h"
#include "engine/text/picture.h"

namespace weft::loop {
namespace {

constexpr std::string_view loop_symbols[] = {"+=", "-=", "<=", ":", ",", "[", "]", "{", "}", "<",
                                             ">",  "(",  ")",  "*", "@", "=", "|", "/", "%", "+", "-"};
constexpr text::Lexicon loop_language{Dots::inner, text::Numbers::integers, loop_symbols};

}  // namespace

Error error_at(const Line& line, std::size_t column, ErrorKind kind, std::string_view message) {
  std::string text = "line " + std::to_string(line.number) + ": ";
  text += message;
  return {kind, with_picture(std::move(text), line.text, {{column, column + 1}})};
}

Expected<std::vector<Line>> lex(std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t stop = std::min(text.find('\n', start), text.size());
    Line line;
    line.number = ++number;
    line.text = text.substr(start, stop - start);
    if (line.text.ends_with('\r')) line.text.remove_suffix(1);
    start = stop + 1;
    const std::string_view code = line.text.substr(0, line.text.find('#'));
    Scanner scanner(code, " ");
    scanner.skip_blanks();
    line.indent = scanner.position();
    while (line.tokens.empty() || line.tokens.back().kind != TokenKind::end) {
      line.tokens.push_back(next_token(scanner, loop_language));
      if (line.tokens.back().kind != TokenKind::unknown) continue;
      const std::size_t column = line.tokens.back().span.begin;
      return std::unexpected(error_at(line, column, ErrorKind::input,
                                      code[column] == '\t' ? std::string("a tab: indent and separate with spaces")
                                                           : name_character(code, column) + " stands for nothing here"));
    }
    if (line.tokens.size() == 1) continue;
    const std::size_t end = code.find_last_not_of(' ') + 1;
    line.tokens.back().span = {end, end};
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace weft::loop
