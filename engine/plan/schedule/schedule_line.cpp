#include "engine/plan/schedule/schedule_line.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <charconv>

#include "engine/network/names.h"
#include "engine/network/picture.h"

namespace weft {
namespace {

constexpr std::string_view blanks = " \t\r";

}  // namespace

bool ScheduleLine::take(std::string_view token) {
  if (text_.substr(position_, token.size()) != token) return false;
  position_ += token.size();
  skip();
  return true;
}

bool ScheduleLine::take_word(std::string_view word) {
  const std::size_t end = position_ + word.size();
  if (text_.substr(position_, word.size()) != word) return false;
  if (end < text_.size() && (continues_name(text_[end]) || text_[end] == '.')) return false;
  position_ = end;
  skip();
  return true;
}

std::string ScheduleLine::take_name() {
  const std::size_t begin = position_;
  while (position_ < text_.size() && (continues_name(text_[position_]) || text_[position_] == '.')) ++position_;
  const std::string name(text_.substr(begin, position_ - begin));
  skip();
  return name;
}

std::string ScheduleLine::take_until_blank() {
  const std::size_t begin = position_;
  while (position_ < text_.size() && blanks.find(text_[position_]) == std::string_view::npos) ++position_;
  const std::string token(text_.substr(begin, position_ - begin));
  skip();
  return token;
}

std::string ScheduleLine::take_rest() {
  std::string rest(text_.substr(position_));
  while (!rest.empty() && blanks.find(rest.back()) != std::string_view::npos) rest.pop_back();
  position_ = text_.size();
  return rest;
}

std::optional<std::uint32_t> ScheduleLine::take_number() {
  std::uint32_t value = 0;
  const auto [end, problem] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
  if (problem != std::errc{}) return std::nullopt;
  position_ = static_cast<std::size_t>(end - text_.data());
  skip();
  return value;
}

std::optional<double> ScheduleLine::take_real() {
  // fast_float also reads "inf" and "nan", which here would be names.
  if (at_end() || (!is_digit(text_[position_]) && text_[position_] != '-' && text_[position_] != '.')) return std::nullopt;
  double value = 0;
  const auto [end, problem] = fast_float::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
  if (problem != std::errc{}) return std::nullopt;
  position_ = static_cast<std::size_t>(end - text_.data());
  skip();
  return value;
}

std::unexpected<Error> ScheduleLine::wrong(const std::string& message) const {
  return input_error(fmt::format("schedule, line {}: {}\n{}", number_, message, picture(text_, {{position_, position_}})));
}

void ScheduleLine::skip() {
  while (position_ < text_.size() && blanks.find(text_[position_]) != std::string_view::npos) ++position_;
}

}  // namespace weft
