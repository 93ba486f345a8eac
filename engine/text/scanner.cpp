#include "engine/text/scanner.h"

#include <algorithm>

namespace weft {

bool Scanner::name_goes_on(Dots dots) const {
  const std::string_view left = rest();
  if (left.empty()) return false;
  if (continues_name(left.front())) return true;
  if (left.front() != '.' || dots == Dots::none) return false;
  return dots == Dots::any || (left.size() > 1 && continues_name(left[1]));
}

bool Scanner::take_word(std::string_view word, Dots dots) {
  const Scanner before = *this;
  if (take(word) && !name_goes_on(dots)) return true;
  *this = before;
  return false;
}

std::string_view Scanner::take_name(Dots dots) {
  const std::size_t begin = position_;
  while (name_goes_on(dots)) ++position_;
  return text_.substr(begin, position_ - begin);
}

std::string_view Scanner::take_until_blank() {
  const std::size_t begin = position_;
  position_ = std::min(text_.find_first_of(blanks_, begin), text_.size());
  return text_.substr(begin, position_ - begin);
}

std::string_view Scanner::take_digits() {
  const std::size_t begin = position_;
  while (is_digit(next())) ++position_;
  return text_.substr(begin, position_ - begin);
}

std::string_view Scanner::take_real_digits() {
  const std::size_t begin = position_;
  take_digits();
  take(".");
  take_digits();
  const Scanner before = *this;
  if (take("e") || take("E")) {
    if (!take("+")) take("-");
    if (take_digits().empty()) *this = before;
  }
  return text_.substr(begin, position_ - begin);
}

}  // namespace weft
