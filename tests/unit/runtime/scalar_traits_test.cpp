#include "runtime/scalar_traits.h"

#include <doctest/doctest.h>

#include <type_traits>

namespace weft::scalar_traits_test {

TEST_CASE("types of values are what their table says") {
  for (const ScalarTraits& each : scalar_types) {
    CHECK(&traits(each.scalar) == &each);
    CHECK(name(each.scalar) == each.name);
    CHECK(parse_scalar(each.name) == each.scalar);
    CHECK(with_element(each.scalar, [](auto value) { return sizeof value; }) == each.bytes);
    CHECK(wider(each.scalar, each.scalar) == each.scalar);
    CHECK(wider(each.scalar, narrowest_scalar) == each.scalar);
  }
  CHECK(wider(Scalar::f32, Scalar::f64) == Scalar::f64);
  CHECK(narrowest_scalar == Scalar::f32);
  CHECK(parse_scalar("f16").error().message == "unknown scalar type 'f16': f64 or f32");
}

TEST_CASE("a value is rounded to its type where it is put") {
  const double third = 1.0 / 3;
  CHECK(rounded_to(Scalar::f64, third) == third);
  CHECK(rounded_to(Scalar::f32, third) == static_cast<double>(static_cast<float>(third)));
  CHECK(rounded_to(Scalar::f32, third) != third);
  for (const ScalarTraits& each : scalar_types) {
    auto values = Buffer::allocate(2 * each.bytes, Memory(), "values");
    REQUIRE(values);
    put_value(*values, each.scalar, 1, third);
    CHECK(value_at(*values, each.scalar, 0) == 0);
    CHECK(value_at(*values, each.scalar, 1) == rounded_to(each.scalar, third));
  }
}

}  // namespace weft::scalar_traits_test
