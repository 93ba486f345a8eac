// Reading lines of tokens with one error at most: what the parser's grammar is written in.
#pragma once

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/loop/lexer.h"
#include "engine/loop/words.h"

namespace weft::loop {

/// The first error is kept and ends every loop, so that the rules built on it read as the grammar.
class TokenReader {
 public:
  explicit TokenReader(const std::vector<Line>& lines) : lines_(lines) {}

 protected:
  bool failed() const { return error_.has_value(); }
  bool more() const { return line_ < lines_.size(); }
  const Line& line() const { return lines_[line_]; }
  const Token& token(std::size_t ahead = 0) const {
    return line().tokens[std::min(token_ + ahead, line().tokens.size() - 1)];
  }
  void advance() { token_ = std::min(token_ + 1, line().tokens.size() - 1); }
  bool at(std::string_view text, std::size_t ahead = 0) const {
    return !failed() && more() && token(ahead).text == text;
  }

  void error_at_token(const Token& where, ErrorKind kind, std::string_view message) {
    if (!failed()) error_ = error_at(line(), where.span.begin, kind, message);
  }
  void error(std::string_view message) { error_at_token(token(), ErrorKind::input, message); }
  void not_yet(std::string_view what) {
    error_at_token(token(), ErrorKind::unsupported, std::string(what) + ": not yet");
  }

  bool accept(std::string_view text) {
    if (!at(text)) return false;
    advance();
    return true;
  }
  void expect(std::string_view text) {
    if (!failed() && !accept(text)) error("expected \"" + std::string(text) + "\"");
  }
  void keyword(std::string_view text) { expect(text); }
  void end_of_line() {
    if (failed()) return;
    if (token().kind != TokenKind::end) return error("expected the end of the line");
    ++line_;
    token_ = 0;
  }

  std::string name(std::string_view what) {
    if (failed()) return {};
    if (token().kind != TokenKind::name) {
      error("expected " + std::string(what));
      return {};
    }
    std::string text(token().text);
    advance();
    return text;
  }

  std::uint64_t number(std::uint64_t maximum = std::numeric_limits<std::uint64_t>::max()) {
    if (failed()) return 0;
    const std::string_view text = token().text;
    std::uint64_t value = 0;
    const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (token().kind != TokenKind::number || code != std::errc{} || stop != text.data() + text.size() ||
        value > maximum) {
      error("expected a number of at most " + std::to_string(maximum));
      return 0;
    }
    advance();
    return value;
  }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number(std::numeric_limits<std::uint32_t>::max())); }

  template <class T, std::size_t N>
  T one_of(const Words<T, N>& words, std::string_view what) {
    std::string choice;
    for (const auto& [value, text] : words) {
      if (accept(text)) return value;
      choice += (choice.empty() ? "" : ", ") + std::string(text);
    }
    if (!failed()) error("expected " + std::string(what) + ", one of: " + choice);
    return words[0].first;
  }

  const std::vector<Line>& lines_;
  std::size_t line_ = 0;
  std::size_t token_ = 0;
  std::optional<Error> error_;
};

}  // namespace weft::loop
