#include "engine/plan/schedule/schedule_line.h"

#include <fmt/format.h>

#include "engine/text/error_at.h"
#include "engine/text/trimmed.h"

namespace weft {

bool ScheduleLine::take(std::string_view token) {
  if (!scanner_.take(token)) return false;
  scanner_.skip_blanks();
  return true;
}

bool ScheduleLine::take_word(std::string_view word) {
  if (!scanner_.take_word(word, Dots::any)) return false;
  scanner_.skip_blanks();
  return true;
}

std::string ScheduleLine::take_name() {
  const std::string name(scanner_.take_name(Dots::any));
  scanner_.skip_blanks();
  return name;
}

std::string ScheduleLine::take_until_blank() {
  const std::string token(scanner_.take_until_blank());
  scanner_.skip_blanks();
  return token;
}

std::string ScheduleLine::take_rest() {
  const std::string rest(without_end(scanner_.rest(), scanner_.blanks()));
  scanner_.skip(scanner_.rest().size());
  return rest;
}

std::optional<std::uint32_t> ScheduleLine::take_number() {
  const auto value = scanner_.take_number<std::uint32_t>();
  if (value) scanner_.skip_blanks();
  return value;
}

std::optional<double> ScheduleLine::take_real() {
  // "inf" and "nan", which are numbers too, would be names here.
  const char first = scanner_.next();
  if (!is_digit(first) && first != '-' && first != '.') return std::nullopt;
  const auto value = scanner_.take_number<double>();
  if (value) scanner_.skip_blanks();
  return value;
}

std::unexpected<Error> ScheduleLine::wrong(const std::string& message) const {
  return input_error(with_picture(fmt::format("schedule, line {}: {}", number_, message), scanner_.text(), {scanner_.here()}));
}

}  // namespace weft
