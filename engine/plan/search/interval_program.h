// The dynamic program over intervals of statements and sets of bound indices.
//
// Kanakagiri & Solomonik, "Minimum Cost Loop Nests for Contraction of a Sparse Tensor with a Tensor Network" (SPAA
// 2024), Algorithm 1, with loops chosen per prefix SET (planning.md section 4): the statements i … j share the loops
// over the set S; a next index x is peeled for the first of them, i … e; e + 1 … j stay at S. With g the cost per
// combination of the indices in S,
//
//   g(S, i, j) = min over x, e of  loop(S, x, i … e) + n(S, x, i … e) * g(S + x, i, e) + crossing(S, i … e) + g(S, e+1, j)
//
// and at S = {} each group is a nest of its own, run in parallel. Where joins were counted, loops also depend on what
// filters S on behalf of statements that share the loops over some of S, but are not among i … j: that is part of the
// state. Exact for a given order of the statements, given
// choice of free layouts and intermediates that are random access, as long as no statement has more than
// `widest_exact` unbound indices; beyond that only the most selective next indices are tried. So it is where the table is full.
//
// What cannot stay below a limit is cut off: every state is asked for something cheaper than what its caller could still
// use, and remembers either its least or that it takes no less than so much.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "engine/plan/cost/cost_model.h"
#include "engine/plan/cost/interval_table.h"

namespace weft {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

class IntervalProgram {
 public:
  /// Without `fused`, every statement is a nest of its own.
  explicit IntervalProgram(const CostModel& model, bool fused = true);
  /// Looks up and remembers what it finds in `table`, by the numbers that `statements` have there.
  IntervalProgram(const CostModel& model, bool fused, IntervalTable& table, const std::vector<std::uint32_t>& statements);

  /// Loops and fusion depths of every statement, in order; nothing if no legal nest exists.
  struct Nests {
    double ns = 0;  ///< without conversions
    bool exact = true;
    std::vector<std::vector<IndexId>> loops;
    std::vector<std::uint32_t> fused;
  };
  /// Nothing either if none takes less than `limit`, which is looked for with less effort.
  std::optional<Nests> solve(double limit = std::numeric_limits<double>::infinity());

  /// No nest of statements first … last below the loops over `bound` takes less, per entry; at the root, over the run.
  /// Infinite where there is no legal one.
  double least(IndexSet bound, std::uint32_t first, std::uint32_t last, JoinSet others = 0) {
    return best(bound, first, last, others, std::numeric_limits<double>::infinity());
  }
  /// What others filter outside the loop that `group` shares, of statements up to `last` which share the loops over
  /// `bound` and of those beside them (`others`); and outside the statements behind it.
  JoinSet inside(JoinSet others, IndexSet bound, StatementRange group, std::size_t last) const;
  JoinSet after(JoinSet others, IndexSet bound, StatementRange group, std::size_t last) const;

  bool exact() const { return exact_; }
  bool fused() const { return fused_; }

  /// Loops priced so far: a measure of work that is the same on every machine.
  std::uint64_t work() const { return work_; }

  static constexpr int widest_exact = 9;

 private:
  using Choice = IntervalTable::Choice;

  double best(IndexSet bound, std::uint32_t first, std::uint32_t last, JoinSet others, double limit);
  Choice choose(IndexSet bound, std::uint32_t first, std::uint32_t last, JoinSet others, double limit);
  LoopPrice loop(IndexSet bound, IndexId index, std::uint32_t first, std::uint32_t end, JoinSet others);
  std::uint32_t interval(std::uint32_t first, std::uint32_t last, JoinSet others) {
    const std::uint32_t number = intervals_[first * count_ + last];
    return others == 0 ? number : table_.beside(number, others);
  }
  bool is_full() const { return table_.bytes() + model_.bytes() > table_.most_bytes; }
  IndexSet candidates(IndexSet bound, std::uint32_t first, JoinSet others);
  void read(IndexSet bound, std::uint32_t first, std::uint32_t last, JoinSet others, std::vector<IndexId>& path, Nests& nests);

  const CostModel& model_;
  bool fused_;
  std::uint32_t count_;
  std::unique_ptr<IntervalTable> own_;
  IntervalTable& table_;
  std::vector<std::uint32_t> intervals_;  // by first and last statement
  std::uint64_t work_ = 0;
  bool exact_ = true;
};

}  // namespace weft
