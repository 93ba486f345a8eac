// Solver: clauses, sums and bounds over booleans and small integers, in the terms of planning; Z3 behind it.
//
// libz3 is looked for when the first solver is created, so that plans which need none neither load nor require it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.h"
#include "weft/memory.h"

namespace weft {

/// A boolean or its negation; of the solver that made it.
struct Literal {
  std::int32_t code = 0;  ///< variable v is 2 v, its negation 2 v + 1
  Literal operator!() const { return {code ^ 1}; }
  bool operator==(const Literal&) const = default;
};

/// An integer between the bounds it was made with; of the solver that made it. One boolean per value above the least
/// (x >= v), which suits positions and depths, not large ranges.
struct Integer {
  std::int32_t number = 0;
  bool operator==(const Integer&) const = default;
};

struct Weighted {
  Literal literal;
  std::int64_t weight = 0;  ///< not negative
};

/// Constraints of one family are tracked together: an unsatisfiable core names families.
struct Family {
  std::int32_t number = 0;
  bool operator==(const Family&) const = default;
};

enum class Satisfiable : std::uint8_t { yes, no, unknown };

/// Without tracking a check is faster and its core empty.
enum class Tracking : std::uint8_t { families, none };

/// A problem of its own, with a Z3 context of its own: what one solver answers depends on its constraints and on the
/// order they were added in alone, never on other solvers, threads or time. Not for several threads at once.
class Solver {
 public:
  /// Unsupported error where libz3 cannot be loaded, resource error where it cannot have the memory. A check is unknown
  /// within some milliseconds after any of `cancelled_by` is set, and so is every later one. A check that would have Z3 keep more
  /// than `question_limit` (rounded up to MB) beyond an empty solver is unknown; other solvers of the process count, too.
  static Expected<Solver> create(Tracking tracking = Tracking::families, std::vector<Cancellation> cancelled_by = {},
                                 std::uint64_t question_limit = ~std::uint64_t{0});
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  ~Solver();

  Family family(std::string_view name);
  Literal boolean();
  Integer integer(std::int64_t least, std::int64_t greatest);

  /// At least one of the literals.
  void clause(std::span<const Literal> literals, Family family);
  void clause(std::initializer_list<Literal> literals, Family family) { clause(std::span(literals.begin(), literals.size()), family); }
  void at_most_one(std::span<const Literal> literals, Family family);
  /// Sum of the weights of the true literals <= bound. Weights are scaled down together, rounding up, where they do
  /// not fit what Z3 takes (int).
  void at_most(std::span<const Weighted> sum, std::int64_t bound, Family family);
  /// If `when` is true: left < right, or that an integer has a value.
  void precedes(Integer left, Integer right, Literal when, Family family);
  void equals(Integer integer, std::int64_t value, Literal when, Family family);

  /// `effort` in Z3's resource units (thousands per millisecond), the same on every machine; what is left unanswered
  /// then is unknown. Later constraints may be added and the check repeated.
  Satisfiable check(std::uint64_t effort);
  std::uint64_t effort_spent() const;  ///< of all checks
  /// Resource error once the process could not have the memory Z3 might need: every check is unknown from then on, and what
  /// follows from that is of this moment.
  Expected<void> had_memory() const;
  /// Why the last check was unknown: effort spent, or what went wrong in Z3.
  std::string why_unknown() const;

  bool value(Literal literal) const;            ///< after yes
  std::int64_t value(Integer integer) const;    ///< after yes
  std::vector<std::string> core() const;        ///< after no: names of families that contradict each other

 private:
  struct State;
  explicit Solver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weft
