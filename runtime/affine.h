// Affine expressions: sums of n * (atom / d % k) + n, the only arithmetic of layouts.
//
// `/` is floor division, `%` its remainder; an atom is a variable or a sum of several terms. Expressions are kept in one
// form, so that equal ones compare equal in most cases: x / a / b is x / (a * b), x % a / b is x / b % (a / b) where b divides
// a, x % a % b is x % b where b divides a, 4 * (x / 4) + x % 4 is x, and what divides a sum is taken out of it, so that
// (4 * x + y) / 4 is x + y / 4.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class Affine;

/// The values from `least` to `most`, both included; none where most is below least.
struct ValueRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool operator==(const ValueRange&) const = default;
};

/// factor * (atom / divisor % modulus); modulus 0: no remainder is taken.
struct AffineTerm {
  std::int64_t factor = 1;
  std::uint32_t variable = 0;         ///< the atom, where `sum` is null
  std::shared_ptr<const Affine> sum;  ///< the atom: several terms, or one that is no variable
  std::int64_t divisor = 1;
  std::int64_t modulus = 0;

  /// Whether they differ in their factors at most.
  bool same_quantity(const AffineTerm& other) const;
  bool operator==(const AffineTerm& other) const { return factor == other.factor && same_quantity(other); }
};

class Affine {
 public:
  Affine() = default;  ///< 0
  static Affine number(std::int64_t value);
  static Affine variable(std::uint32_t number);
  static Affine of(AffineTerm term);

  const std::vector<AffineTerm>& terms() const { return terms_; }
  std::int64_t constant() const { return constant_; }
  bool is_number() const { return terms_.empty(); }
  /// The variable that it is, if it is nothing else.
  std::optional<std::uint32_t> as_variable() const;
  bool uses(std::uint32_t variable) const;
  /// False: some number on the way here did not fit into 64 bits, and the expression means nothing.
  bool fits() const { return fits_; }

  Affine plus(const Affine& other) const;
  Affine minus(const Affine& other) const { return plus(other.times(-1)); }
  Affine times(std::int64_t factor) const;
  Affine divided(std::int64_t divisor) const;  ///< divisor > 0
  Affine modulo(std::int64_t modulus) const;   ///< modulus > 0
  /// With expressions for the variables.
  Affine substituted(std::span<const Affine> variables) const;

  /// At values of the variables, whose range() has to be known.
  std::int64_t at(std::span<const std::int64_t> variables) const;
  /// The same for many at once: variables[v][n] to result[n].
  void at(std::span<const std::span<const std::int64_t>> variables, std::span<std::int64_t> result) const;
  /// Values that include all it has at variables within ranges; nothing if some are beyond 2^63 - 1 in size, in a partial
  /// sum too.
  std::optional<ValueRange> range(std::span<const ValueRange> variables) const;

  /// "4*i+j%2-1", in the order of the variables, what is subtracted behind the rest.
  std::string text(std::span<const std::string> names) const;

  bool operator==(const Affine& other) const;

 private:
  friend class AffineSum;
  std::vector<AffineTerm> terms_;
  std::int64_t constant_ = 0;
  bool fits_ = true;
};

constexpr std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr std::int64_t floor_remainder(std::int64_t a, std::int64_t b) { return a % b + (a % b < 0 ? b : 0); }

/// Range of term.factor * (atom / divisor % modulus).
std::optional<ValueRange> range_of(const AffineTerm& term, std::span<const ValueRange> variables);

/// Takes from the ends of the variables' ranges what gives the expression no value within `values`, as far as each variable by itself
/// tells. False: nothing is left of some.
bool narrow(std::span<ValueRange> variables, const Affine& expression, const ValueRange& values);

}  // namespace weft
