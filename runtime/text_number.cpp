#include "runtime/text_number.h"

#include <fast_float/fast_float.h>

#include <cmath>

namespace weft {

namespace {

template <class T>
NumberDefect scan(const char*& at, const char* end, T& number) {
  const char* begin = at;
  if (*begin == '+') {
    ++begin;
    if (*begin == '-' || *begin == '+') return NumberDefect::malformed;
  }
  T value = 0;
  const fast_float::from_chars_result result = fast_float::from_chars(begin, end, value);
  if (result.ptr == begin || result.ec == std::errc::invalid_argument) return NumberDefect::malformed;
  const char first = *begin == '-' ? begin[1] : *begin;
  at = result.ptr;
  number = value;
  if (std::isinf(value) && (is_digit(first) || first == '.')) return NumberDefect::overflow;
  return NumberDefect::none;
}

}  // namespace

NumberDefect scan_any_real(const char*& at, const char* end, double& number) { return scan(at, end, number); }
NumberDefect scan_any_real(const char*& at, const char* end, float& number) { return scan(at, end, number); }

}  // namespace weft
