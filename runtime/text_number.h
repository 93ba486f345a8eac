// Numbers in text. The text must be followed by a character that belongs to no number, such as a line end, so that the
// scanning loops need no end test.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>

#include "runtime/digit.h"

namespace weft {

/// Blanks separate the fields of a line. A carriage return is none: it may only stand before a line end.
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool is_line_end(const char* at) { return *at == '\n' || (*at == '\r' && at[1] == '\n'); }
inline bool ends_field(const char* at) { return is_blank(*at) || is_line_end(at); }

inline const char* skip_blanks(const char* at) {
  while (is_blank(*at)) ++at;
  return at;
}

/// Digits at `at`, moved behind them. False if there is none or the number exceeds 64 bits (`at` is undefined then).
inline bool scan_unsigned(const char*& at, std::uint64_t& number) {
  const char* const begin = at;
  std::uint64_t value = static_cast<unsigned char>(*at - '0');
  if (value > 9) return false;
  for (;;) {
    const auto digit = static_cast<unsigned char>(*++at - '0');
    if (digit > 9) break;
    value = value * 10 + digit;
  }
  // Nineteen digits always fit; more are rare enough to be scanned again.
  if (at - begin > 19) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    value = 0;
    for (const char* c = begin; c != at; ++c) {
      const auto digit = static_cast<std::uint64_t>(*c - '0');
      if (value > (most - digit) / 10) return false;
      value = value * 10 + digit;
    }
  }
  number = value;
  return true;
}

enum class NumberDefect { none, malformed, overflow };

/// Any number but the short integers that scan_real takes itself. Moves `at` behind it. inf, infinity and nan in any
/// case are numbers; overflow: a finite number that the type cannot hold. Too small a number becomes 0.
NumberDefect scan_any_real(const char*& at, const char* end, double& number);
NumberDefect scan_any_real(const char*& at, const char* end, float& number);

template <class T>
NumberDefect scan_real(const char*& at, const char* end, T& number) {
  const char* digits = at;
  const bool negative = *digits == '-';
  if (negative) ++digits;
  const char* c = digits;
  std::int64_t value = 0;
  while (is_digit(*c) && c - digits < 18) value = value * 10 + (*c++ - '0');
  if (c != digits && ends_field(c)) {
    // One conversion from an exact integer rounds once, as reading the decimal text would.
    const T magnitude = static_cast<T>(value);
    number = negative ? -magnitude : magnitude;
    at = c;
    return NumberDefect::none;
  }
  return scan_any_real(at, end, number);
}

/// Whether `number` is exactly the integer of these digits, which it was scanned from, sign apart.
template <class T>
bool is_exact(std::string_view digits, T number) {
  // Digits that the type has in any case are most of them.
  if (digits.size() <= std::numeric_limits<T>::digits10) return true;
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  char exact[400];  // the largest double has 309 digits
  const char* const end =
      std::to_chars(exact, exact + sizeof exact, number < 0 ? -number : number, std::chars_format::fixed, 0).ptr;
  return digits == std::string_view(exact, end);
}

}  // namespace weft
