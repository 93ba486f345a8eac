#include "frontend/number_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace weft::number_text_test {
namespace {

/// The numbers of one array, joined by blanks as in its print.
std::string array(const std::vector<double>& values, Scalar scalar = Scalar::f64) {
  const ArrayNumbers numbers(values, scalar);
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : " ") + numbers.text(value);
  return text;
}

TEST_CASE("one number is the shortest text that reads back") {
  CHECK(number_text(1, Scalar::f64) == "1.0");
  CHECK(number_text(-0.0, Scalar::f64) == "-0.0");
  CHECK(number_text(0.1, Scalar::f64) == "0.1");
  CHECK(number_text(1.0 / 3, Scalar::f64) == "0.3333333333333333");
  CHECK(number_text(1e15, Scalar::f64) == "1000000000000000.0");
  CHECK(number_text(1e16, Scalar::f64) == "1e+16");
  CHECK(number_text(0.0001, Scalar::f64) == "0.0001");
  CHECK(number_text(0.00001, Scalar::f64) == "1e-05");
  CHECK(number_text(1.5e300, Scalar::f64) == "1.5e+300");
  CHECK(number_text(static_cast<double>(0.1F), Scalar::f32) == "0.1");
  CHECK(number_text(NAN, Scalar::f64) == "nan");
  CHECK(number_text(-HUGE_VAL, Scalar::f64) == "-inf");
}

// What numpy 1.24 prints for np.array([...]).
TEST_CASE("numbers of an array") {
  CHECK(array({1, 2, 3}) == "1. 2. 3.");
  CHECK(array({1, 2.5, 10}) == " 1.   2.5 10. ");
  CHECK(array({-1, 0.25}) == "-1.    0.25");
  CHECK(array({0.1 + 0.2, 1.0 / 3}) == "0.3        0.33333333");
  CHECK(array({1, 1e-5}) == "1.e+00 1.e-05");
  CHECK(array({1, 1001}) == "1.000e+00 1.001e+03");
  CHECK(array({1, 1000}) == "   1. 1000.");
  CHECK(array({1e16, 1}) == "1.e+16 1.e+00");
  CHECK(array({1e8, 1}) == "1.e+08 1.e+00");
  CHECK(array({99999999, 100000}) == "99999999.   100000.");
  CHECK(array({123456789.123}) == "1.23456789e+08");
  CHECK(array({-0.0, 1e-9, NAN}) == "-0.e+00  1.e-09     nan");
  CHECK(array({0.8136373F, 0.48012412F, 1e-5F}, Scalar::f32) == "8.1363732e-01 4.8012412e-01 9.9999997e-06");
  CHECK(array({1.5383923e17F, 7.125387e17F, 4}, Scalar::f32) == "1.5383923e+17 7.1253872e+17 4.0000000e+00");
  CHECK(array({1e300, 1e-300}) == "1.e+300 1.e-300");
  CHECK(array({1e100, 1}) == "1.e+100 1.e+000");
  CHECK(array({0, 0}) == "0. 0.");
  CHECK(array({NAN, 1}) == "nan  1.");
  CHECK(array({NAN, 1.25}) == " nan 1.25");
  CHECK(array({-HUGE_VAL, 1}) == "-inf   1.");
  CHECK(array({NAN, NAN}) == "nan nan");
  CHECK(array({-HUGE_VAL, NAN}) == "-inf  nan");
  CHECK(array({static_cast<double>(0.1F), 2}, Scalar::f32) == "0.1 2. ");
  CHECK(array({123456.789012345}) == "123456.78901235");
}

}  // namespace
}  // namespace weft::number_text_test
