#include "runtime/elimination.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

constexpr std::size_t most_known = 256;  // quantities: a text of any length stays cheap
constexpr int most_rounds = 64;

AffineTerm quantity_of(AffineTerm term) {
  term.factor = 1;
  return term;
}

bool same_atom(const AffineTerm& a, const AffineTerm& b) {
  if (!a.sum != !b.sum) return false;
  return a.sum ? *a.sum == *b.sum : a.variable == b.variable;
}

Affine part(Affine value, std::int64_t divisor, std::int64_t modulus) {
  value = value.divided(divisor);
  return modulus == 0 ? value : value.modulo(modulus);
}

}  // namespace

/// Remainders that take nothing away are dropped, quantities with one value are numbers.
Affine Elimination::simplified(const Affine& expression) const {
  Affine result = Affine::number(expression.constant());
  for (AffineTerm term : expression.terms()) {
    AffineTerm quotient = quantity_of(term);
    quotient.modulus = 0;
    const auto range = range_of(quotient, ranges_);
    if (range && term.modulus != 0 && range->least >= 0 && range->most < term.modulus) term.modulus = 0;
    const auto left = range_of(quantity_of(term), ranges_);
    if (left && left->least == left->most) {
      result = result.plus(Affine::number(left->least).times(term.factor));
    } else if (term.sum && term.divisor == 1 && term.modulus == 0) {
      result = result.plus(simplified(*term.sum).times(term.factor));
    } else {
      result = result.plus(Affine::of(std::move(term)));
    }
  }
  return result;
}

std::optional<Affine> Elimination::value_of_quantity(const AffineTerm& term) const {
  for (const Known& known : known_) {
    const AffineTerm& given = known.quantity;
    if (!same_atom(given, term) || term.divisor % given.divisor != 0) continue;
    const std::int64_t divisor = term.divisor / given.divisor;
    if (given.modulus == 0) return part(known.value, divisor, term.modulus);
    // x / d % k divided by n is x / (d * n) % (k / n).
    const std::int64_t left = given.modulus / divisor;
    if (given.modulus % divisor == 0 && term.modulus != 0 && left % term.modulus == 0) return part(known.value, divisor, term.modulus);
  }
  if (!term.sum) return std::nullopt;
  std::optional<Affine> sum = value_of(*term.sum);
  if (sum) sum = part(std::move(*sum), term.divisor, term.modulus);
  return sum;
}

std::optional<Affine> Elimination::value_of(const Affine& wanted) const {
  const Affine expression = simplified(wanted);
  Affine result = Affine::number(expression.constant());
  for (const AffineTerm& term : expression.terms()) {
    const auto value = value_of_quantity(term);
    if (!value) return std::nullopt;
    result = result.plus(value->times(term.factor));
  }
  if (!result.fits()) return std::nullopt;
  return result;
}

bool Elimination::learn(AffineTerm quantity, Affine value) {
  if (!value.fits() || known_.size() >= most_known || value_of_quantity(quantity)) return false;
  if (quantity.sum && quantity.divisor == 1 && quantity.modulus == 0) {
    equations_.push_back({simplified(*quantity.sum), std::move(value)});
    return true;
  }
  known_.push_back({std::move(quantity), std::move(value)});
  return true;
}

/// Known quantities go to the right sides. True: some did.
bool Elimination::replace_known() {
  bool replaced = false;
  for (Equation& equation : equations_) {
    Affine left = Affine::number(equation.left.constant());
    for (const AffineTerm& term : equation.left.terms()) {
      const auto value = value_of_quantity(term);
      replaced = replaced || value;
      if (value)
        equation.right = equation.right.minus(value->times(term.factor));
      else
        left = left.plus(Affine::of(term));
    }
    equation.right = equation.right.minus(Affine::number(left.constant()));
    equation.left = left.minus(Affine::number(left.constant()));
  }
  std::erase_if(equations_,
                [](const Equation& equation) { return equation.left.is_number() || !equation.left.fits() || !equation.right.fits(); });
  return replaced;
}

/// Gauss and Jordan, without fractions: a pivot with the least factor of each row, taken out of all others.
void Elimination::eliminate() {
  for (std::size_t row = 0; row < equations_.size(); ++row) {
    if (equations_[row].left.is_number()) continue;
    const Equation pivot_row = equations_[row];
    const AffineTerm pivot =
        *std::ranges::min_element(pivot_row.left.terms(), {}, [](const AffineTerm& term) { return std::abs(term.factor); });
    for (std::size_t other = 0; other < equations_.size(); ++other) {
      if (other == row) continue;
      Equation& equation = equations_[other];
      const auto& terms = equation.left.terms();
      const auto same = std::ranges::find_if(terms, [&](const AffineTerm& term) { return term.same_quantity(pivot); });
      if (same == terms.end()) continue;
      const std::int64_t common = std::gcd(same->factor, pivot.factor);
      const std::int64_t times = pivot.factor / common;
      const std::int64_t of_pivot = same->factor / common;
      Equation without{equation.left.times(times).minus(pivot_row.left.times(of_pivot)),
                       equation.right.times(times).minus(pivot_row.right.times(of_pivot))};
      if (without.left.fits() && without.right.fits()) equation = std::move(without);
    }
  }
}

/// factor * quantity = right.
bool Elimination::read_off() {
  std::vector<Equation> found;
  for (const Equation& equation : equations_)
    if (equation.left.terms().size() == 1) found.push_back(equation);
  bool learned = false;
  for (const Equation& equation : found) {
    const AffineTerm term = equation.left.terms().front();
    const Affine right = equation.right.minus(Affine::number(equation.left.constant()));
    const Affine value = (term.factor < 0 ? right.times(-1) : right).divided(std::abs(term.factor));
    learned = learn(quantity_of(term), value) || learned;
  }
  return learned;
}

bool Elimination::join_pairs() {
  bool learned = false;
  for (std::size_t a = 0; a < known_.size(); ++a) {
    for (std::size_t b = 0; b < known_.size(); ++b) {
      const AffineTerm& quotient = known_[a].quantity;
      const AffineTerm& rest = known_[b].quantity;
      std::int64_t whole = 0;
      if (a == b || rest.modulus == 0 || !same_atom(quotient, rest)) continue;
      if (__builtin_mul_overflow(rest.divisor, rest.modulus, &whole) || quotient.divisor != whole) continue;
      if (__builtin_mul_overflow(quotient.modulus, rest.modulus, &whole)) continue;
      AffineTerm joined = rest;
      joined.modulus = whole;
      learned = learn(std::move(joined), known_[a].value.times(rest.modulus).plus(known_[b].value)) || learned;
    }
  }
  return learned;
}

void Elimination::solve() {
  for (int round = 0; round < most_rounds; ++round) {
    bool learned = replace_known();
    eliminate();
    learned = read_off() || learned;
    learned = join_pairs() || learned;
    if (!learned) return;
  }
}

void Elimination::add(const Affine& left, const Affine& right) {
  if (!left.fits()) return;
  equations_.push_back({simplified(left), right});
  solve();
}

}  // namespace weft
