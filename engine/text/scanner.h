// Scanner: a text read from left to right. What every parser of weft stands on.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

#include "engine/text/names.h"
#include "engine/text/span.h"

namespace weft {

/// Where a name goes on behind a dot: nowhere; where a name could go on behind it ("K.1", not "K."); anywhere ("T.2").
enum class Dots { none, inner, any };

/// Copies remember places: a copy made before reading takes the reading back. Refers to the text.
class Scanner {
 public:
  /// `blanks`: what skip_blanks() skips.
  explicit Scanner(std::string_view text, std::string_view blanks = " \t\r") : text_(text), blanks_(blanks) {}

  std::string_view text() const { return text_; }
  std::string_view blanks() const { return blanks_; }
  std::string_view rest() const { return text_.substr(position_); }
  std::size_t position() const { return position_; }
  /// Byte positions of what was read since `begin`.
  Span since(std::size_t begin) const { return {begin, position_}; }
  /// The place where reading stands, between two bytes.
  Span here() const { return {position_, position_}; }
  /// The character that is read next, which the end of the text cuts off.
  Span next_character() const { return {position_, at_end() ? position_ : position_ + 1}; }

  bool at_end() const { return position_ == text_.size(); }
  bool at(std::string_view symbol) const { return rest().starts_with(symbol); }
  /// The next character; '\0' at the end.
  char next() const { return at_end() ? '\0' : text_[position_]; }

  void skip_blanks() {
    while (!at_end() && blanks_.find(text_[position_]) != std::string_view::npos) ++position_;
  }
  /// Goes on behind so many bytes, which there have to be.
  void skip(std::size_t bytes) { position_ += bytes; }
  bool take(std::string_view symbol) {
    if (!at(symbol)) return false;
    position_ += symbol.size();
    return true;
  }
  /// A word that ends where no name goes on: "loops" is not the beginning of "loopsy".
  bool take_word(std::string_view word, Dots dots = Dots::none);
  /// Letters, digits and '_' from here on, which may begin with a digit; empty if there are none.
  std::string_view take_name(Dots dots = Dots::none);
  std::string_view take_until_blank();
  /// The digits from here on.
  std::string_view take_digits();
  /// Digits, a point, an exponent if digits follow it: "2", ".5", "1e-3", "2." and of "2e" the "2".
  std::string_view take_real_digits();
  /// A number as std::from_chars reads it, or nothing, and nothing is taken, where there is none or it is too large.
  template <class Number>
  std::optional<Number> take_number() {
    Number value{};
    const auto [end, problem] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (problem != std::errc{}) return std::nullopt;
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

 private:
  bool name_goes_on(Dots dots) const;

  std::string_view text_;
  std::string_view blanks_;
  std::size_t position_ = 0;
};

}  // namespace weft
