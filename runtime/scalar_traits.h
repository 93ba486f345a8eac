// ScalarTraits: what each type of values is, in one table, and the one place where a type at run time becomes one of C++.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "weft/format.h"
#include "weft/memory.h"

namespace weft {

struct ScalarTraits {
  Scalar scalar;
  std::string_view name;  ///< of formats, loop programs and reports
  unsigned bytes;
  char key;               ///< in the keys of operands
};

/// Indexed by Scalar; the first is what values are where nothing says otherwise.
inline constexpr std::array<ScalarTraits, 2> scalar_types{{
    {.scalar = Scalar::f64, .name = "f64", .bytes = sizeof(double), .key = 'd'},
    {.scalar = Scalar::f32, .name = "f32", .bytes = sizeof(float), .key = 'f'},
}};

/// Whether it is one of them: a host may have made it of any number.
constexpr bool is_known(Scalar scalar) { return static_cast<std::size_t>(scalar) < scalar_types.size(); }

constexpr const ScalarTraits& traits(Scalar scalar) { return scalar_types[static_cast<std::size_t>(scalar)]; }

consteval bool is_table_of_scalars() {
  for (std::size_t number = 0; number < scalar_types.size(); ++number) {
    const ScalarTraits& each = scalar_types[number];
    if (static_cast<std::size_t>(each.scalar) != number || each.bytes != scalar_bytes(each.scalar)) return false;
  }
  return true;
}
static_assert(is_table_of_scalars());

/// Calls f(T{}) with the type of C++, so that the loops of a function are compiled once per type of values.
template <class F>
decltype(auto) with_element(Scalar scalar, F&& f) {
  switch (scalar) {
    case Scalar::f64: return f(double{});
    case Scalar::f32: return f(float{});
  }
  std::unreachable();
}

/// The type of values that holds both: of a product, or of parts put together.
constexpr Scalar wider(Scalar left, Scalar right) { return scalar_bytes(left) < scalar_bytes(right) ? right : left; }
/// The narrowest, where a search for the widest begins.
constexpr Scalar narrowest_scalar = [] {
  Scalar narrowest = scalar_types[0].scalar;
  for (const ScalarTraits& each : scalar_types) {
    if (each.bytes < scalar_bytes(narrowest)) narrowest = each.scalar;
  }
  return narrowest;
}();

/// What is left of a value that is stored in the type.
inline double rounded_to(Scalar scalar, double value) {
  return with_element(scalar, [&]<class T>(T) { return static_cast<double>(static_cast<T>(value)); });
}

/// A value where the branch per value does not matter.
inline double value_at(const Buffer& values, Scalar scalar, std::uint64_t place) {
  return with_element(scalar, [&]<class T>(T) { return static_cast<double>(values.as<const T>()[place]); });
}
/// Rounded to the type.
inline void put_value(Buffer& values, Scalar scalar, std::uint64_t place, double value) {
  with_element(scalar, [&]<class T>(T) { values.as<T>()[place] = static_cast<T>(value); });
}

}  // namespace weft
