// Elimination: what expressions of unknown variables are, from the values that other expressions of them have.
//
// Rules: linear equations are solved, x / n and x % n together are x (x / (d * n) % k and x / d % n are x / d % (k * n)), a
// value that is known is divided, and a remainder of what is below the divisor is the number itself. For example i / 4 = a and
// i % 4 = b give i = 4*a + b. Divisions by factors of an unknown are taken to be exact: values that no variables have give
// variables whose expressions have other values, which a look at these tells.
#pragma once

#include <optional>
#include <vector>

#include "runtime/affine.h"

namespace weft {

class Elimination {
 public:
  /// Where the variables are.
  explicit Elimination(std::vector<ValueRange> ranges) : ranges_(std::move(ranges)) {}

  /// `left`, of the variables, has the value of `right`, of what is given.
  void add(const Affine& left, const Affine& right);
  /// The expression of what is given that has the value of `wanted`; nothing where the rules do not lead there.
  std::optional<Affine> value_of(const Affine& wanted) const;

 private:
  struct Known {
    AffineTerm quantity;  ///< with the factor 1
    Affine value;
  };
  struct Equation {
    Affine left;
    Affine right;
  };

  Affine simplified(const Affine& expression) const;
  std::optional<Affine> value_of_quantity(const AffineTerm& term) const;
  bool learn(AffineTerm quantity, Affine value);
  bool replace_known();
  void eliminate();
  bool read_off();
  bool join_pairs();
  void solve();

  std::vector<ValueRange> ranges_;
  std::vector<Known> known_;
  std::vector<Equation> equations_;
};

}  // namespace weft
