#include "frontend/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "runtime/scalar_traits.h"

namespace weft {
namespace {

constexpr int most_digits = 8;

/// The shortest text, or one with `digits` behind the point.
std::string converted(double value, Scalar scalar, std::chars_format format, std::optional<int> digits = {}) {
  std::array<char, 400> text{};  // the longest: 1.8e308 without an exponent
  const auto shortest = [&](auto number) { return std::to_chars(text.data(), text.data() + text.size(), number, format); };
  std::to_chars_result result{};
  if (digits) {
    result = std::to_chars(text.data(), text.data() + text.size(), value, format, *digits);
  } else {
    result = with_element(scalar, [&]<class T>(T) { return shortest(static_cast<T>(value)); });
  }
  return {text.data(), result.ptr};
}

/// A number in parts: "-12", "25", "e+20".
struct Parts {
  std::string whole, fraction, exponent;
};

Parts split(std::string text) {
  Parts parts;
  if (const std::size_t e = text.find('e'); e != std::string::npos) {
    parts.exponent = text.substr(e);
    text.resize(e);
  }
  const std::size_t point = text.find('.');
  parts.whole = text.substr(0, point);
  if (point != std::string::npos) parts.fraction = text.substr(point + 1);
  return parts;
}

Parts parts(double value, Scalar scalar, std::chars_format format) {
  Parts shortest = split(converted(value, scalar, format));
  if (shortest.fraction.size() <= most_digits) return shortest;
  Parts rounded = split(converted(value, scalar, format, most_digits));
  while (rounded.fraction.ends_with('0')) rounded.fraction.pop_back();
  return rounded;
}

std::string not_finite(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

}  // namespace

std::string number_text(double value, Scalar scalar) {
  if (!std::isfinite(value)) return not_finite(value);
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-4 || size >= 1e16)) return converted(value, scalar, std::chars_format::scientific);
  std::string text = converted(value, scalar, std::chars_format::fixed);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

ArrayNumbers::ArrayNumbers(std::span<const double> values, Scalar scalar) : scalar_(scalar) {
  double largest = 0;
  double smallest = HUGE_VAL;
  bool any_finite = false;
  std::size_t widest_name = 0;  // of inf and nan
  for (const double value : values) {
    if (!std::isfinite(value)) {
      widest_name = std::max(widest_name, not_finite(value).size());
      continue;
    }
    any_finite = true;
    if (value == 0) continue;
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
  }
  exponents_ = largest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const Parts number = parts(value, scalar, exponents_ ? std::chars_format::scientific : std::chars_format::fixed);
    left_ = std::max(left_, number.whole.size());
    digits_ = std::max(digits_, number.fraction.size());
    if (exponents_) exponent_digits_ = std::max(exponent_digits_, number.exponent.size() - 2);
  }
  right_ = exponents_ ? digits_ + exponent_digits_ + 2 : digits_;
  const std::size_t point = any_finite ? 1 : 0;
  if (widest_name > left_ + right_ + point) left_ = widest_name - right_ - point;
  if (!any_finite) right_ = 0;
}

std::string ArrayNumbers::text(double value) const {
  if (!std::isfinite(value)) {
    const std::string name = not_finite(value);
    const std::size_t width = left_ + right_ + (right_ > 0 || digits_ > 0 ? 1 : 0);
    return std::string(width > name.size() ? width - name.size() : 0, ' ') + name;
  }
  return exponents_ ? scientific(value) : positional(value);
}

std::string ArrayNumbers::positional(double value) const {
  const Parts number = parts(value, scalar_, std::chars_format::fixed);
  return std::string(left_ - number.whole.size(), ' ') + number.whole + '.' + number.fraction +
         std::string(digits_ - number.fraction.size(), ' ');
}

std::string ArrayNumbers::scientific(double value) const {
  // Digits behind those that tell the number from its neighbours are those it has, not zeros: f32 shows more of them.
  const Parts number = split(converted(value, Scalar::f64, std::chars_format::scientific, static_cast<int>(digits_)));
  const std::string exponent = number.exponent.substr(2);
  return std::string(left_ - number.whole.size(), ' ') + number.whole + '.' + number.fraction + number.exponent.substr(0, 2) +
         std::string(exponent_digits_ - exponent.size(), '0') + exponent;
}

}  // namespace weft
