#include "runtime/affine.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/guarded.h"
#include "runtime/wide.h"

namespace weft {
namespace {

constexpr Wide greatest = std::int64_t{INT64_MAX};

bool fits_number(Wide value) { return value <= greatest && value >= -greatest; }

/// An order of quantities: variables before sums, then by divisor and modulus.
bool before(const Affine& a, const Affine& b);
bool before(const AffineTerm& a, const AffineTerm& b) {
  if (!a.sum != !b.sum) return !a.sum;
  if (a.sum && *a.sum != *b.sum) return before(*a.sum, *b.sum);
  if (!a.sum && a.variable != b.variable) return a.variable < b.variable;
  return a.divisor != b.divisor ? a.divisor < b.divisor : a.modulus < b.modulus;
}
bool before(const Affine& a, const Affine& b) {
  for (std::size_t n = 0; n < std::min(a.terms().size(), b.terms().size()); ++n) {
    const AffineTerm& left = a.terms()[n];
    const AffineTerm& right = b.terms()[n];
    if (!left.same_quantity(right)) return before(left, right);
    if (left.factor != right.factor) return left.factor < right.factor;
  }
  if (a.terms().size() != b.terms().size()) return a.terms().size() < b.terms().size();
  return a.constant() < b.constant();
}

}  // namespace

/// Terms added one by one, in the form that expressions are kept in.
class AffineSum {
 public:
  explicit AffineSum(Affine begin = {}) : sum_(std::move(begin)) {}

  void add_number(Wide value) {
    const Wide total = sum_.constant_ + value;
    if (!fits_number(value) || !fits_number(total)) sum_.fits_ = false;
    else
      sum_.constant_ = static_cast<std::int64_t>(total);
  }

  void add(AffineTerm term, Wide times) {
    const Wide factor = term.factor * times;
    if (!fits_number(factor)) sum_.fits_ = false;
    if (factor == 0 || !sum_.fits_) return;
    term.factor = static_cast<std::int64_t>(factor);
    const auto place = std::ranges::lower_bound(sum_.terms_, term, [](const auto& a, const auto& b) { return before(a, b); });
    if (place == sum_.terms_.end() || !place->same_quantity(term)) {
      sum_.terms_.insert(place, std::move(term));
      return;
    }
    const Wide total = Wide{place->factor} + term.factor;
    if (!fits_number(total)) sum_.fits_ = false;
    else if (total == 0)
      sum_.terms_.erase(place);
    else
      place->factor = static_cast<std::int64_t>(total);
  }

  void add(const Affine& other, Wide times) {
    if (!other.fits_) sum_.fits_ = false;
    for (const AffineTerm& term : other.terms_) add(term, times);
    if (other.constant_ != 0) add_number(other.constant_ * times);
  }

  Affine take() {
    while (join_pair()) continue;
    return std::move(sum_);
  }

 private:
  /// f * n * (x / (d * n) % k) + f * (x / d % n) is f * (x / d % (k * n)).
  bool join_pair() {
    for (const AffineTerm& rest : sum_.terms_) {
      if (rest.modulus == 0) continue;
      for (const AffineTerm& quotient : sum_.terms_) {
        AffineTerm joined = rest;
        joined.modulus = quotient.modulus;
        joined.divisor = quotient.divisor;
        if (!joined.same_quantity(quotient) || quotient.divisor != Wide{rest.divisor} * rest.modulus) continue;
        if (quotient.factor != Wide{rest.factor} * rest.modulus || !fits_number(Wide{quotient.modulus} * rest.modulus)) continue;
        joined.divisor = rest.divisor;
        joined.modulus = quotient.modulus * rest.modulus;
        const AffineTerm rest_gone = rest;
        std::erase_if(sum_.terms_, [gone = quotient, &rest_gone](const AffineTerm& term) { return term == gone || term == rest_gone; });
        if (joined.sum && joined.divisor == 1 && joined.modulus == 0) add(*joined.sum, joined.factor);
        else
          add(joined, 1);
        return true;
      }
    }
    return false;
  }

  Affine sum_;
};

bool AffineTerm::same_quantity(const AffineTerm& other) const {
  if (divisor != other.divisor || modulus != other.modulus || !sum != !other.sum) return false;
  return sum ? sum == other.sum || *sum == *other.sum : variable == other.variable;
}

bool Affine::operator==(const Affine& other) const {
  return constant_ == other.constant_ && fits_ == other.fits_ && terms_ == other.terms_;
}

Affine Affine::number(std::int64_t value) {
  Affine result;
  result.constant_ = value;
  return result;
}

Affine Affine::variable(std::uint32_t number) { return of({.factor = 1, .variable = number, .sum = nullptr, .divisor = 1, .modulus = 0}); }

Affine Affine::of(AffineTerm term) {
  AffineSum sum;
  sum.add(std::move(term), 1);
  return sum.take();
}

std::optional<std::uint32_t> Affine::as_variable() const {
  if (constant_ != 0 || terms_.size() != 1) return std::nullopt;
  const AffineTerm& term = terms_.front();
  if (term.sum || term.factor != 1 || term.divisor != 1 || term.modulus != 0) return std::nullopt;
  return term.variable;
}

bool Affine::uses(std::uint32_t variable) const {
  return std::ranges::any_of(terms_, [&](const AffineTerm& term) {
    return term.sum ? term.sum->uses(variable) : term.variable == variable;
  });
}

Affine Affine::plus(const Affine& other) const {
  AffineSum sum(*this);
  sum.add(other, 1);
  return sum.take();
}

Affine Affine::times(std::int64_t factor) const {
  AffineSum sum;
  sum.add(*this, factor);
  return sum.take();
}

Affine Affine::divided(std::int64_t divisor) const {
  if (divisor == 1 || !fits_) return *this;
  AffineSum whole;
  AffineSum rest;
  for (const AffineTerm& term : terms_) {
    AffineTerm part = term;
    if (term.factor % divisor == 0) part.factor = term.factor / divisor;
    (term.factor % divisor == 0 ? whole : rest).add(std::move(part), 1);
  }
  whole.add_number(floor_quotient(constant_, divisor));
  rest.add_number(floor_remainder(constant_, divisor));
  Affine left = rest.take();
  if (left.terms_.empty()) return whole.take();
  AffineTerm term = left.terms_.front();
  const bool alone = left.terms_.size() == 1 && left.constant_ == 0 && term.factor == 1;
  if (alone && term.modulus != 0 && term.modulus <= divisor) return whole.take();  // it is below the divisor
  const bool divides = alone && (term.modulus == 0 || term.modulus % divisor == 0);
  if (divides && fits_number(Wide{term.divisor} * divisor)) {
    term.divisor *= divisor;
    term.modulus /= divisor;
  } else {
    term = {.factor = 1, .variable = 0, .sum = std::make_shared<const Affine>(std::move(left)), .divisor = divisor, .modulus = 0};
  }
  whole.add(std::move(term), 1);
  return whole.take();
}

Affine Affine::modulo(std::int64_t modulus) const {
  if (!fits_) return *this;
  if (modulus == 1) return {};
  AffineSum rest;
  for (const AffineTerm& term : terms_) {
    AffineTerm part = term;
    part.factor = term.factor % modulus;
    rest.add(std::move(part), 1);
  }
  rest.add_number(floor_remainder(constant_, modulus));
  Affine left = rest.take();
  if (left.terms_.empty()) return left;
  AffineTerm term = left.terms_.front();
  const bool alone = left.terms_.size() == 1 && left.constant_ == 0 && term.factor == 1;
  if (alone && term.modulus != 0 && term.modulus <= modulus) return left;
  if (alone && (term.modulus == 0 || term.modulus % modulus == 0)) {
    term.modulus = modulus;
    return of(std::move(term));
  }
  return of({.factor = 1, .variable = 0, .sum = std::make_shared<const Affine>(std::move(left)), .divisor = 1, .modulus = modulus});
}

Affine Affine::substituted(std::span<const Affine> variables) const {
  AffineSum result;
  for (const AffineTerm& term : terms_) {
    Affine atom = term.sum ? term.sum->substituted(variables) : variables[term.variable];
    atom = atom.divided(term.divisor);
    if (term.modulus != 0) atom = atom.modulo(term.modulus);
    result.add(atom, term.factor);
  }
  result.add_number(constant_);
  return result.take();
}

std::int64_t Affine::at(std::span<const std::int64_t> variables) const {
  std::int64_t result = constant_;
  for (const AffineTerm& term : terms_) {
    std::int64_t atom = term.sum ? term.sum->at(variables) : variables[term.variable];
    if (term.divisor != 1) atom = floor_quotient(atom, term.divisor);
    if (term.modulus != 0) atom = floor_remainder(atom, term.modulus);
    result += term.factor * atom;
  }
  return result;
}

namespace {

/// result[n] += factor * (atom[n] / divisor % modulus), by shifts and masks where the numbers are powers of two.
void add_term(const AffineTerm& term, std::span<const std::int64_t> atom, std::span<std::int64_t> result) {
  const auto add = [&](auto&& quantity) {
    for (std::size_t n = 0; n < result.size(); ++n) result[n] += term.factor * quantity(atom[n]);
  };
  const auto power = [](std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; };
  const std::int64_t d = term.divisor;
  const std::int64_t k = term.modulus;
  if (power(d) && (k == 0 || power(k))) {
    const int shift = __builtin_ctzll(static_cast<unsigned long long>(d));
    const std::int64_t mask = k == 0 ? -1 : k - 1;
    return add([=](std::int64_t x) { return (x >> shift) & mask; });
  }
  const bool narrow = d <= UINT32_MAX && k <= UINT32_MAX &&
                      std::ranges::all_of(atom, [](std::int64_t x) { return x >= 0 && x <= std::int64_t{UINT32_MAX}; });
  if (narrow) {
    const auto divisor = static_cast<std::uint32_t>(d);
    const auto modulus = static_cast<std::uint32_t>(k);
    if (modulus == 0) return add([=](std::int64_t x) { return static_cast<std::int64_t>(static_cast<std::uint32_t>(x) / divisor); });
    if (divisor == 1) return add([=](std::int64_t x) { return static_cast<std::int64_t>(static_cast<std::uint32_t>(x) % modulus); });
    return add([=](std::int64_t x) { return static_cast<std::int64_t>(static_cast<std::uint32_t>(x) / divisor % modulus); });
  }
  if (k == 0) return add([=](std::int64_t x) { return floor_quotient(x, d); });
  add([=](std::int64_t x) { return floor_remainder(floor_quotient(x, d), k); });
}

}  // namespace

void Affine::at(std::span<const std::span<const std::int64_t>> variables, std::span<std::int64_t> result) const {
  std::ranges::fill(result, constant_);
  std::vector<std::int64_t> of_sum;
  for (const AffineTerm& term : terms_) {
    if (!term.sum) {
      add_term(term, variables[term.variable].first(result.size()), result);
      continue;
    }
    of_sum.resize(result.size());
    term.sum->at(variables, of_sum);
    add_term(term, of_sum, result);
  }
}

std::optional<ValueRange> range_of(const AffineTerm& term, std::span<const ValueRange> variables) {
  std::optional<ValueRange> atom = term.sum ? term.sum->range(variables) : std::optional(variables[term.variable]);
  if (!atom) return atom;
  ValueRange within{floor_quotient(atom->least, term.divisor), floor_quotient(atom->most, term.divisor)};
  if (term.modulus != 0) {
    const bool one_turn = floor_quotient(within.least, term.modulus) == floor_quotient(within.most, term.modulus);
    within = one_turn ? ValueRange{floor_remainder(within.least, term.modulus), floor_remainder(within.most, term.modulus)}
                      : ValueRange{0, term.modulus - 1};
  }
  const Wide ends[2] = {Wide{within.least} * term.factor, Wide{within.most} * term.factor};
  if (!fits_number(ends[0]) || !fits_number(ends[1])) return std::nullopt;
  return ValueRange{static_cast<std::int64_t>(std::min(ends[0], ends[1])), static_cast<std::int64_t>(std::max(ends[0], ends[1]))};
}

std::optional<ValueRange> Affine::range(std::span<const ValueRange> variables) const {
  if (!fits_) return std::nullopt;
  Wide least = constant_;
  Wide most = constant_;
  Wide size = constant_ < 0 ? -Wide{constant_} : Wide{constant_};
  for (const AffineTerm& term : terms_) {
    const std::optional<ValueRange> of_term = range_of(term, variables);
    if (!of_term) return std::nullopt;
    least += of_term->least;
    most += of_term->most;
    size += std::max(of_term->most < 0 ? -Wide{of_term->most} : Wide{of_term->most},
                     of_term->least < 0 ? -Wide{of_term->least} : Wide{of_term->least});
  }
  if (size > greatest) return std::nullopt;
  return ValueRange{static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}

namespace {

struct WideRange {
  Wide least = 0;
  Wide most = 0;
  bool empty() const { return most < least; }
};

WideRange common(const WideRange& a, const WideRange& b) { return {std::max(a.least, b.least), std::min(a.most, b.most)}; }

Wide quotient_of(Wide a, Wide b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0

/// Where a number of `numbers` has a remainder within `rests`, which are none below 0 or from the modulus on.
WideRange with_remainders(const WideRange& numbers, Wide modulus, const WideRange& rests) {
  const Wide first = numbers.least - quotient_of(numbers.least, modulus) * modulus;
  const Wide last = numbers.most - quotient_of(numbers.most, modulus) * modulus;
  const Wide up = first < rests.least ? rests.least - first : first > rests.most ? modulus - first + rests.least : 0;
  const Wide down = last > rests.most ? last - rests.most : last < rests.least ? last + modulus - rests.most : 0;
  return {numbers.least + up, numbers.most - down};
}

/// The same of factor * (atom / divisor % modulus).
bool narrow_term(std::span<ValueRange> variables, const AffineTerm& term, const WideRange& values) {
  const auto atom = term.sum ? term.sum->range(variables) : std::optional(variables[term.variable]);
  if (!atom) return true;
  const Wide factor = term.factor < 0 ? -Wide{term.factor} : Wide{term.factor};
  const WideRange turned = term.factor < 0 ? WideRange{-values.most, -values.least} : values;
  WideRange quantity{-quotient_of(-turned.least, factor), quotient_of(turned.most, factor)};
  WideRange quotient{floor_quotient(atom->least, term.divisor), floor_quotient(atom->most, term.divisor)};
  if (term.modulus == 0) {
    quotient = common(quotient, quantity);
  } else {
    quantity = common(quantity, {0, Wide{term.modulus} - 1});
    if (quantity.empty()) return false;
    quotient = with_remainders(quotient, term.modulus, quantity);
  }
  const WideRange divided{quotient.least * term.divisor, quotient.most * term.divisor + term.divisor - 1};
  const WideRange left = common(divided, {atom->least, atom->most});
  if (quotient.empty() || left.empty()) return false;
  const ValueRange narrowed{static_cast<std::int64_t>(left.least), static_cast<std::int64_t>(left.most)};
  if (term.sum) return narrow(variables, *term.sum, narrowed);
  variables[term.variable] = narrowed;
  return true;
}

}  // namespace

bool narrow(std::span<ValueRange> variables, const Affine& expression, const ValueRange& values) {
  for (const AffineTerm& term : expression.terms()) {
    const auto rest = expression.minus(Affine::of(term)).range(variables);
    if (rest && !narrow_term(variables, term, {Wide{values.least} - rest->most, Wide{values.most} - rest->least})) return false;
  }
  return true;
}

namespace {

/// Without its sign.
std::string term_text(const AffineTerm& term, std::span<const std::string> names) {
  std::string text = term.sum ? fmt::format("({})", term.sum->text(names)) : names[term.variable];
  if (term.divisor != 1) text += fmt::format("/{}", term.divisor);
  if (term.modulus != 0) text += fmt::format("%{}", term.modulus);
  const std::int64_t times = std::abs(term.factor);
  if (times == 1) return text;
  const bool quotient = term.divisor != 1 || term.modulus != 0;
  return fmt::format("{}*{}", times, quotient ? "(" + text + ")" : text);
}

}  // namespace

std::string Affine::text(std::span<const std::string> names) const {
  return guarded_text([&] {
    std::string text;
    const auto add = [&](bool negative, const std::string& part) {
      text += negative ? "-" : text.empty() ? "" : "+";
      text += part;
    };
    const auto positive = [](const AffineTerm& term) { return term.factor > 0; };
    const bool none_positive = std::ranges::none_of(terms_, positive);
    if (none_positive && constant_ > 0) add(false, fmt::format("{}", constant_));
    for (const AffineTerm& term : terms_)
      if (term.factor > 0) add(false, term_text(term, names));
    for (const AffineTerm& term : terms_)
      if (term.factor < 0) add(true, term_text(term, names));
    if (constant_ < 0 || (constant_ > 0 && !none_positive)) add(constant_ < 0, fmt::format("{}", std::abs(constant_)));
    return text.empty() ? std::string("0") : text;
  });
}

}  // namespace weft
