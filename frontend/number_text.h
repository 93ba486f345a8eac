// Numbers as numpy prints them.
#pragma once

#include <span>
#include <string>

#include "weft/format.h"

namespace weft {

/// One number alone: the shortest text that reads back as the same value, "1.0", "0.1", "1e-05".
std::string number_text(double value, Scalar scalar);

/// How the numbers of one array are printed: at most eight digits behind the point, all equally wide with their points
/// below each other, with exponents where magnitudes are from 1e8 on, below 1e-4, or differ by more than a thousand.
/// numpy's FloatingFormat with its default options (numpy/core/arrayprint.py).
class ArrayNumbers {
 public:
  /// `values` are those that will be printed.
  ArrayNumbers(std::span<const double> values, Scalar scalar);
  std::string text(double value) const;

 private:
  std::string positional(double value) const;
  std::string scientific(double value) const;

  Scalar scalar_;
  bool exponents_ = false;
  std::size_t left_ = 0;             // columns before the point
  std::size_t right_ = 0;            // columns behind it
  std::size_t digits_ = 0;           // behind the point, with exponents
  std::size_t exponent_digits_ = 0;
};

}  // namespace weft
