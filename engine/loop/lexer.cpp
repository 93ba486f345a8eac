#include "engine/loop/lexer.h"

#include <algorithm>

#include "engine/network/names.h"
#include "engine/network/picture.h"

namespace weft::loop {
namespace {

/// Length of the token at the start of `text`, which is not empty and starts with no space; 0: no token.
std::size_t token_length(std::string_view text) {
  std::size_t length = 0;
  if (starts_name(text[0])) {
    while (length < text.size() && (continues_name(text[length]) || (text[length] == '.' && length + 1 < text.size() &&
                                                                     continues_name(text[length + 1]))))
      ++length;
    return length;
  }
  if (is_digit(text[0])) {
    while (length < text.size() && is_digit(text[length])) ++length;
    return length;
  }
  for (std::string_view two : {"+=", "-=", "<="})
    if (text.starts_with(two)) return 2;
  return std::string_view(":,[]{}<>()*@=|").find(text[0]) == std::string_view::npos ? 0 : 1;
}

TokenKind kind_of(char first) {
  return starts_name(first) ? TokenKind::name : is_digit(first) ? TokenKind::number : TokenKind::symbol;
}

}  // namespace

Error error_at(const Line& line, std::size_t column, ErrorKind kind, std::string_view message) {
  std::string text = "line " + std::to_string(line.number) + ": ";
  text += message;
  text += '\n';
  text += picture(line.text, {{column, column + 1}});
  return {kind, text};
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
    line.indent = std::min(code.find_first_not_of(' '), code.size());
    for (std::size_t column = line.indent; column < code.size();) {
      if (code[column] == ' ') {
        ++column;
        continue;
      }
      const std::size_t length = token_length(code.substr(column));
      if (length == 0)
        return std::unexpected(error_at(line, column, ErrorKind::input,
                                        code[column] == '\t'
                                            ? std::string("a tab: indent and separate with spaces")
                                            : name_character(code, column) + " stands for nothing here"));
      line.tokens.push_back({kind_of(code[column]), code.substr(column, length), column});
      column += length;
    }
    if (line.tokens.empty()) continue;
    line.tokens.push_back({TokenKind::end, {}, code.find_last_not_of(' ') + 1});
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace weft::loop
